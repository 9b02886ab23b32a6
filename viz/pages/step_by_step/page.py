"""Step by step: the sentence's way through the model, one stage at a time."""

import streamlit as st

from viz.pages.shared.sentence import sentence_box
from viz.pages.step_by_step.walk import walk

MOST_TOKENS = 40

st.title("Step by step")
st.markdown(
    "The way of your sentence through the model, one stage after the other, in the numbers of this run."
)
run = sentence_box()
if run is not None:
    n = max(map(len, (*run.trace.src_tokens, *run.trace.tgt_tokens)))
    if n > MOST_TOKENS:
        st.info(
            f"The stages are drawn for sentences of at most {MOST_TOKENS} tokens, source and target each; "
            f"this one has {n}. Type a shorter one."
        )
    else:
        walk(run)
