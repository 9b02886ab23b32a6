"""Masks: which token may look at which, in a batch of sentences of different lengths."""

import streamlit as st

from viz.pages.masks.batch import batch_box, batch_section
from viz.pages.masks.masks import mask_section
from viz.pages.shared.explain import prose

st.title("Masks")
prose(
    "Sentences of one batch have to have one length, so the shorter ones are filled up with padding, "
    "which nobody may look at. And a decoder that learns to write the next token must not see it: it may "
    "look back only. Both rules are masks: cells of the attention that are closed before the softmax."
)
trace = batch_box()
if trace is not None:
    batch_section(trace)
    mask_section(trace)
