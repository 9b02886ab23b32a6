"""Step by step: the sentence's way through the model, one stage at a time."""

import streamlit as st

from viz.pages.shared.sentence import sentence_box
from viz.pages.step_by_step.walk import walk

MOST_TOKENS = 40

st.title("Step by step")
st.markdown(
    "The way of your sentence through the model, one stage after the other, in the numbers of this run."
)
run = sentence_box(most_tokens=MOST_TOKENS)
if run is not None:
    walk(run)
