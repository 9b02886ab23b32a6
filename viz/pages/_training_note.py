"""The sidebar's note, on every page, of this person's training: while that goes on, it keeps it alive."""

from __future__ import annotations

import streamlit as st

from transformer.live.job import ACTIVE
from viz.live_session import current_training, find_activity
from viz.pages._training_choices import TASKS

LOOK_EVERY = 5.0
"""Seconds until the end of a training is noticed; each look costs the server a fifth of a second."""


def training_note() -> None:
    """Draw the note while this person has a training."""
    is_active = find_activity()
    if current_training() is not None:
        with st.sidebar:
            st.fragment(_note, run_every=LOOK_EVERY if is_active else None)(was_active=is_active)


def _note(*, was_active: bool) -> None:
    training = current_training()
    if training is None:
        return
    status = training.status
    if (status in ACTIVE) != was_active:
        st.rerun()  # the whole page: only there the clock is set or stopped
    if was_active:
        state = "is learning"
    else:
        state = "has finished learning" if status == "finished" else "has stopped learning"
    # Without a count of updates: the page Training has one, and two clocks never show the same.
    st.caption(f"**{TASKS[training.plan.task]}** {state}. See the page Training.")
