"""Decode: how a target is searched for or drawn, token by token, and what the model saw at each step."""

import streamlit as st

from transformer.decoding.request import NOT_FINITE
from viz.pages.decode.confidence import confidence_section
from viz.pages.decode.forcing import forcing_section
from viz.pages.decode.search import search_section
from viz.pages.shared.explain import prose
from viz.pages.shared.model_words import why_no_decoding
from viz.pages.shared.sentence import sentence_box
from viz.session import current_model

st.title("Decode")
prose(
    "The model gives a probability to every token that could come next; decoding makes a sentence of that. "
    "Here you see a beam search branch by branch, where the heads look at each step, what temperature, top-k "
    "and top-p do to the probabilities, and what changes when the model reads its own words instead of the "
    "right ones."
)
why_not = why_no_decoding(current_model())
if why_not:
    st.info(why_not)
else:
    run = sentence_box(with_target=False)
    if run is not None and run.has_numbers:
        confidence_section(run)
        search_section()
        forcing_section(run)
    elif run is not None:
        st.warning(NOT_FINITE)
