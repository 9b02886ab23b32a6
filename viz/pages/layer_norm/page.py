"""Layer norm: what it does to each token, and how it keeps the residual stream in bounds."""

from functools import partial

import streamlit as st

from viz.pages.layer_norm.norm import norm_section
from viz.pages.layer_norm.residual import pre_and_post_section, residual_section
from viz.pages.layer_norm.words import NORMS, WITHOUT_NORMS
from viz.pages.shared.explain import prose
from viz.pages.shared.sections import sections
from viz.pages.shared.sentence import sentence_box
from viz.session import current_model

st.title("Layer norm")
config = current_model().model.config
prose(
    "Every sublayer adds its output to the residual stream, so its numbers may grow from layer to "
    f"layer. {NORMS[config.norm].introduction if config.has_norms else WITHOUT_NORMS}"
)
sentence = sentence_box()
if sentence is not None:
    sections(
        {
            "One norm": partial(norm_section, sentence),
            "Residual stream": partial(residual_section, sentence),
            "Before training": partial(pre_and_post_section, sentence),
        }
    )
