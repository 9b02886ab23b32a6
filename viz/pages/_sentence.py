"""The sentence box at the head of a page: what the model is to read, with examples one click away."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from transformer.decoding import DecodingStep
from transformer.run import Run, SentenceError
from viz.pages._languages import language
from viz.session import (
    current_choice,
    current_model,
    current_texts,
    examples,
    run_of,
    texts_to_address,
    use_sentence,
)

PATIENCE_SECONDS = 0.3
"""A wait longer than this is shown."""


def sentence_box() -> Run | None:
    """Draw the box, run what is in it, and return the run.

    None, with a sentence on the page that says why, if it can't be run.
    """
    loaded = current_model()
    source, target = language(loaded.source.language), language(loaded.target.language, "Target")
    left, right = st.columns([3, 2])
    left.text_input(
        f"{source} sentence",
        key="text",
        persist_state="session",
        placeholder="Type a sentence and press Enter",
    )
    right.text_input(
        f"{target} sentence (optional)",
        key="target",
        persist_state="session",
        placeholder="Left empty, the model writes it",
        help="Type a target to see what the model thinks of it: it is then given your words so far at "
        "each step (teacher forcing). Left empty, the model goes on with its own words.",
    )
    example_pills(examples())
    texts_to_address()
    return _run()


def example_pills(sentences: Sequence[str]) -> None:
    """Offer example sentences; a click puts one into the box."""
    if sentences:
        st.pills("Examples", sentences, key="example", on_change=_take_example, label_visibility="collapsed")


def _take_example() -> None:
    chosen = st.session_state["example"]
    if chosen is not None:
        use_sentence(chosen)
    st.session_state["example"] = None


def _run() -> Run | None:
    waiting, unit = st.empty(), current_model().target.unit
    started = time.monotonic()

    def show_progress(step: DecodingStep, limit: int) -> None:
        if time.monotonic() - started > PATIENCE_SECONDS:
            done = step.position + 1
            waiting.progress(
                done / limit, text=f"The model is writing: {done} {unit}s so far, {limit} at the most"
            )

    try:
        with st.spinner("Running the model …", show_time=True):
            run = run_of(current_choice(), *current_texts(), on_step=show_progress)
    except SentenceError as error:
        waiting.warning(str(error))
        return None
    waiting.empty()
    return run
