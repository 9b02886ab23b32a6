"""Step by step: the sentence's way through the model, one stage at a time."""

import streamlit as st

from viz.pages.shared.sentence import sentence_box
from viz.pages.step_by_step.walk import walk

MOST_TOKENS = 40

st.title("Step by step")
st.markdown(
    "The way of your sentence through the model, one stage after the other, in the numbers of this run."
)
sentence = sentence_box(most_tokens=MOST_TOKENS)
if sentence is not None:
    walk(sentence)
