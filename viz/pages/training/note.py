"""The sidebar's note of this user's training run, on pages that don't show it; it keeps the run alive."""

from __future__ import annotations

import streamlit as st

from transformer.training.live.run import ACTIVE
from viz.components.bridge import clock
from viz.pages.training.choices import TASKS
from viz.pages.training.live_session import current_training

LOOK_EVERY = 5.0
"""Seconds until the end of a training run is noticed; each look costs the server a fifth of a second."""


def training_note() -> None:
    """Draw the note, if this user has a training run."""
    if current_training() is not None:
        with st.sidebar:
            _note()


@st.fragment
def _note() -> None:
    training = current_training()
    if training is None:
        return
    status = training.status
    if status in ACTIVE:
        state = "is learning"
    else:
        state = "has finished learning" if status == "finished" else "has stopped learning"
    # Without a count of updates: the page Training has one, and two clocks never show the same.
    st.caption(f"**{TASKS[training.task]}** {state}. See the page Training.")
    clock(LOOK_EVERY if status in ACTIVE else None, key="training_note_clock")
