"""Step by step: one token's path through the model, moving, and the full matrices of each step."""

import streamlit as st

from viz.pages.shared.sentence import sentence_box
from viz.pages.step_by_step.session import arrive
from viz.pages.step_by_step.walk import walk

MOST_TOKENS = 40

st.title("Step by step")
st.markdown(
    "The path of one token through the model, up to the choice of the token that comes next, in the numbers "
    "of this run: play it, or go step by step."
)
sentence = sentence_box(most_tokens=MOST_TOKENS)
if sentence is not None:
    arrive()
    walk(sentence)
