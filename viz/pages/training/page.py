"""Training: a small model learns while you watch, and a finished training is gone through step by step."""

import streamlit as st

from viz.pages.shared.explain import prose
from viz.pages.training.live import live_tab
from viz.pages.training.note import training_note
from viz.pages.training.snapshots import snapshots_tab
from viz.widgets import pick_button

TABS = {"live": "Train one now", "snapshots": "A finished training"}

st.title("Training")
prose(
    "A model begins with random numbers. An update shows it some sentences with the right answers, measures "
    "how surprised it was (the loss), and moves every number a little, so that it would have been less so. "
    "Here you see what that does to the attention."
)
tab = pick_button(st.segmented_control, "What to watch", TABS, key="watch", label_visibility="collapsed")
if tab == "live":
    live_tab()
else:
    training_note()
    snapshots_tab()
