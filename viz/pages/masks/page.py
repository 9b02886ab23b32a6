"""Masks: which token may attend to which, in a batch of sentences of different lengths."""

from functools import partial

import streamlit as st

from viz.pages.masks.batch import batch_box, batch_section
from viz.pages.masks.masks import mask_section
from viz.pages.masks.softmax import softmax_section
from viz.pages.shared.explain import prose
from viz.pages.shared.sections import sections

st.title("Masks")
prose(
    "Sentences in a batch must be equally long, so shorter ones are filled with padding, which is masked. "
    "And a decoder that learns to predict the next token must not see it: it may only look back. Both rules "
    "are masks, which close cells of the attention before the softmax."
)
batch = batch_box()
if batch is not None:
    sections(
        {
            "Masks": partial(mask_section, batch),
            "One query": partial(softmax_section, batch),
            "Batch": partial(batch_section, batch),
        }
    )
