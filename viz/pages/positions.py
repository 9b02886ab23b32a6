"""Positions: how the encoding of a place in the sentence is made, and how it meets the tokens."""

import streamlit as st

from viz.pages._position_maker import encoding_section
from viz.pages._position_sizes import sizes_section
from viz.pages._sentence import sentence_box

st.title("Positions")
st.markdown(
    "Attention by itself sees a bag of tokens: shuffle them, and it would not notice. So a vector that "
    "depends on the place alone is added to each token's embedding. In the paper it is made of sines and "
    "cosines of different wavelengths (section 3.5)."
)
encoding_section()
st.header("Where the encoding meets the sentence", divider=True)
run = sentence_box()
if run is not None:
    sizes_section(run)
