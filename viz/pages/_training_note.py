"""The sidebar's note, on every page, that a training goes on: it also keeps that training alive."""

from __future__ import annotations

import streamlit as st

from viz.live_session import current_training
from viz.pages._training_choices import TASKS

LOOK_EVERY = 20.0
"""Seconds; a training of which nothing is asked for several times as long stops by itself."""


def training_note() -> None:
    """Draw the note while this person's training runs."""
    training = current_training()
    if training is not None and training.is_active:
        with st.sidebar:
            st.fragment(_note, run_every=LOOK_EVERY)()


def _note() -> None:
    training = current_training()
    if training is None:
        return
    steps = training.course().history.steps
    done = f"{steps[-1] if steps else 0:,} of {training.plan.steps:,} updates"
    state = "is learning" if training.is_active else "has stopped learning"
    st.caption(f"**{TASKS[training.plan.task]}** {state}: {done}. See the page Training.")
