"""Lab: mistakes of published implementations, made in the chosen model on the reader's sentence."""

import streamlit as st

from viz.pages.lab.guess import guess_view
from viz.pages.lab.one import mistake_view
from viz.pages.lab.picking import GUESS, pick_mode
from viz.pages.shared.sentence import sentence_box

MOST_TOKENS = 60
"""A broken model recomputes its whole target at each step, and a longer one doesn't fit on a page."""

st.title("Lab")
st.markdown(
    "Mistakes that published implementations of the Transformer make. Each is made here in the chosen model, "
    "with its own weights and on your sentence, next to the model as it should be."
)
mode = pick_mode()
sentence = sentence_box(with_target=False, most_tokens=MOST_TOKENS)
if sentence is not None:
    (guess_view if mode == GUESS else mistake_view)(sentence)
