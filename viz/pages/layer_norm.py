"""Layer norm: what it does to every token, and how it keeps the residual stream in bounds."""

import streamlit as st

from viz.pages._norm_parts import norm_section
from viz.pages._residual import pre_and_post_section, residual_section
from viz.pages._sentence import sentence_box

st.title("Layer norm")
st.markdown(
    "Every sublayer adds its output to the residual stream, so the numbers in it may grow from layer to "
    "layer. Layer norm takes each token by itself, brings its numbers to mean 0 and deviation 1, and then "
    "scales and shifts each dimension by learned γ and β (Ba et al. 2016; section 3.1 of the paper)."
)
run = sentence_box()
if run is not None:
    norm_section(run)
    residual_section(run)
    pre_and_post_section(run)
