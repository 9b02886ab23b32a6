"""A notice, and a progress bar, for what takes longer than a moment."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from transformer.analysis.interventions.outcomes import OnProgress

Result = TypeVar("Result")
PATIENCE_SECONDS = 0.3
"""Longer waits show a progress bar."""


def with_progress(doing: str, compute: Callable[[OnProgress], Result]) -> Result:
    """Compute a value; once it takes longer than a moment, say so, with a bar if it reports progress.

    Args:
        doing: what the user waits for, such as "Switching off heads".
        compute: gets a function to report how many steps are done, and of how many.
    """
    started = time.monotonic()

    def report(done: int, of: int) -> None:
        if time.monotonic() - started > PATIENCE_SECONDS:
            waiting.progress(min(done / of, 1.0), text=f"{done:,} of {of:,}")

    with st.spinner(f"{doing} …", show_time=True):
        waiting = st.empty()
        result = compute(report)
    waiting.empty()
    return result
