"""Decode: how a target is searched for or drawn, token by token, and what the model saw at each step."""

import streamlit as st

from viz.pages._decode_forcing import forcing_section
from viz.pages._decode_search import search_section
from viz.pages._decode_sentence import source_box
from viz.pages._kinds import why_no_decoding
from viz.session import current_model

st.title("Decode")
st.markdown(
    "The model gives a probability to every token that could come next; decoding makes a sentence of that. "
    "Here you see a beam search branch by branch, where the heads look at each step, what temperature, top-k "
    "and top-p do to the probabilities, and what changes when the model reads its own words instead of the "
    "right ones."
)
why_not = why_no_decoding(current_model())
if why_not:
    st.info(why_not)
else:
    run = source_box()
    if run is not None:
        search_section()
        forcing_section(run)
