"""Layer norm: what it does to every token, and how it keeps the residual stream in bounds."""

import streamlit as st

from viz.pages.layer_norm.norm import norm_section
from viz.pages.layer_norm.residual import pre_and_post_section, residual_section
from viz.pages.layer_norm.words import NORMS
from viz.pages.shared.explain import prose
from viz.pages.shared.sentence import sentence_box
from viz.session import current_model

st.title("Layer norm")
prose(
    "Every sublayer adds its output to the residual stream, so the numbers in it may grow from layer to "
    f"layer. {NORMS[current_model().model.config.norm].introduction}"
)
run = sentence_box()
if run is not None:
    norm_section(run)
    residual_section(run)
    pre_and_post_section(run)
