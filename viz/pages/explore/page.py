"""Explore, the start page: a sentence goes in, words come out, every head shows where it looked."""

import streamlit as st

from viz.pages.explore.attention import attention_section
from viz.pages.explore.in_and_out import in_and_out
from viz.pages.shared.model_words import introduction
from viz.pages.shared.sentence import sentence_box
from viz.session import current_model

st.title("Explore")
st.markdown(
    f"{introduction(current_model())} Each picture was computed by the model that is chosen in the sidebar, "
    "from the sentence in the box."
)
run = sentence_box()
if run is not None:
    in_and_out(run)
    attention_section(run)
