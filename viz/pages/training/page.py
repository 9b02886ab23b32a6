"""Training: a small model learns while you watch, and a finished training run can be replayed."""

import streamlit as st

from viz.pages.shared.explain import prose
from viz.pages.training.live import live_tab
from viz.pages.training.note import training_note
from viz.pages.training.snapshots import snapshots_tab
from viz.widgets import pick_button

TABS = {"live": "Train one now", "snapshots": "A finished training"}

st.title("Training")
prose(
    "A model starts with random numbers. An update shows it a few sentences with the correct answers, "
    "measures how surprised it was (the loss), and nudges every weight so that the model would be less "
    "surprised. Here you see what that does to the attention."
)
tab = pick_button(st.segmented_control, "What to watch", TABS, key="watch", label_visibility="collapsed")
if tab == "live":
    live_tab()
else:
    training_note()
    snapshots_tab()
