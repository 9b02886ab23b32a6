"""The sidebar's note about the user's training run, on other pages; it keeps the run alive."""

from __future__ import annotations

import streamlit as st

from transformer.training.live.run import ACTIVE
from viz.components.bridge import clock
from viz.pages.training.choices import TASKS
from viz.pages.training.live_session import current_training

LOOK_EVERY = 5.0
"""Seconds between two checks of a training run; each costs the server a fifth of a second."""


def training_note() -> None:
    """Draw the note, if the user has a training run."""
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
    # No update count: the page Training shows one, and two clocks would never agree.
    st.caption(f"**{TASKS[training.task]}** {state}. See the page Training.")
    clock(LOOK_EVERY if status in ACTIVE else None, key="training_note_clock")
