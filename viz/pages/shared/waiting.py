"""A progress bar for what takes longer than a moment."""

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
    """Compute a value, with a progress bar once it takes longer than a moment.

    Args:
        doing: the bar's text, such as "Switching off heads".
        compute: gets a function to report how many steps are done, and of how many.
    """
    waiting = st.empty()
    started = time.monotonic()

    def report(done: int, of: int) -> None:
        if time.monotonic() - started > PATIENCE_SECONDS:
            waiting.progress(min(done / of, 1.0), text=f"{doing}: {done:,} of {of:,}")

    result = compute(report)
    waiting.empty()
    return result
