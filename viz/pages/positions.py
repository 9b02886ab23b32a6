"""Positions: how the encoding of a place in the sentence is made, and how the chosen model knows places."""

import streamlit as st

from viz.pages._position_kinds import SENTENCES
from viz.pages._position_maker import encoding_section
from viz.pages._position_relative import bias_section
from viz.pages._position_rotary import rotary_section
from viz.pages._position_sizes import sizes_section
from viz.pages._sentence import sentence_box
from viz.session import current_model

kind = current_model().model.config.positions
st.title("Positions")
st.markdown(
    "Attention by itself sees a bag of tokens: shuffle them, and it would not notice. So a vector that "
    "depends on the place alone is added to each token's embedding. In the paper it is made of sines and "
    f"cosines of different wavelengths (section 3.5).{SENTENCES[kind]}"
)
if kind in ("sinusoidal", "learned"):
    st.header("The encoding of the paper")
    encoding_section()
    st.header("Where the encoding meets the sentence")
    run = sentence_box()
    if run is not None:
        sizes_section(run)
else:
    if kind != "none":
        st.header("Where the chosen model has its positions")
        run = sentence_box()
        if run is not None:
            bias_section(run) if kind == "relative" else rotary_section(run)
    st.header("The encoding of the paper")
    encoding_section()
