"""The sentence box at the top of a page: what the model is to read, with examples one click away."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import streamlit as st

from transformer.decoding.greedy import DecodingStep
from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.run import Run
from viz.pages.shared.literal_text import escaped
from viz.pages.shared.model_words import (
    kind_examples,
    source_label,
    source_placeholder,
    target_label,
    typing_note,
)
from viz.session import current_choice, current_model, run_of
from viz.text_session import Boxes, boxes_of, current_texts, examples_of, use_sentence

Result = TypeVar("Result")
_EXAMPLE = "example"
FORCING_NOTE = (
    "Type a target to see what the model thinks of it: it is then given your words so far at each step "
    "(teacher forcing). Left empty, the model continues with its own words."
)
WORDLESS_NOTE = "This model has no generator, so it can't write: its decoder reads what you type here."
PATIENCE_SECONDS = 0.3
"""A wait longer than this is shown."""


def sentence_box(*, with_target: bool = True, most_tokens: int | None = None) -> Run | None:
    """Draw the box, run what is in it, and return the run; without a target box the model writes its own.

    None, with a sentence on the page that says why, if it can't be run, or has too many tokens for the page.

    Args:
        with_target: whether there is a box for the target.
        most_tokens: of the source and of the target, of a page on which one looks at all of them at once.
    """
    loaded = current_model()
    if with_target and loaded.model.config.n_decoder_layers:
        left, right = st.columns([3, 2])
        with left:
            source_input(loaded)
        with right:
            _target_input(loaded)
    else:
        source_input(loaded)
    examples = examples_of(current_choice().name) or dict.fromkeys(kind_examples(loaded), "")
    example_pills(examples, boxes_of(loaded))
    source, target = current_texts()
    run = _run(source, target if with_target else "")
    n = 0 if run is None else max(map(len, (*run.trace.src_tokens, *run.trace.tgt_tokens)))
    if most_tokens is not None and n > most_tokens:
        st.info(
            "This page is for sentences that one can look at as a whole, of source and target at most "
            f"{most_tokens} tokens each; this one has {n}. Type a shorter one."
        )
        return None
    return run


def run_or_warn(compute: Callable[[], Result], waiting: str = "Running the model …") -> Result | None:
    """Compute something of a sentence; None, with a sentence on the page that says why, if it can't be."""
    try:
        with st.spinner(waiting, show_time=True):
            return compute()
    except SentenceError as error:
        st.warning(str(error))
        return None


def source_input(loaded: LoadedModel) -> None:
    """Draw the box for what the model is to read."""
    st.text_input(
        source_label(loaded),
        key=boxes_of(loaded).text,
        persist_state="session",
        placeholder=source_placeholder(loaded),
        help=typing_note(loaded),
    )


def _target_input(loaded: LoadedModel) -> None:
    has_generator = loaded.model.config.has_generator
    st.text_input(
        f"{target_label(loaded)} (optional)",
        key=boxes_of(loaded).target,
        persist_state="session",
        placeholder="Left empty, the model writes it" if has_generator else "What the decoder is to read",
        help=FORCING_NOTE if has_generator else WORDLESS_NOTE,
    )


def example_pills(examples: Mapping[str, str], boxes: Boxes) -> None:
    """Offer example sentences, each with what it shows; a click puts one into the box."""

    def label(sentence: str) -> str:
        shows = examples[sentence]
        return f":gray[{shows}:] {escaped(sentence)}" if shows else escaped(sentence)

    if examples:
        st.pills(
            "Examples",
            list(examples),
            key=_EXAMPLE,
            on_change=_take_example,
            args=(boxes,),
            format_func=label,
            label_visibility="collapsed",
        )


def _take_example(boxes: Boxes) -> None:
    chosen = st.session_state[_EXAMPLE]
    if chosen is not None:
        use_sentence(boxes, chosen)
    st.session_state[_EXAMPLE] = None


def _run(source: str, target: str) -> Run | None:
    waiting, unit = st.empty(), current_model().target.unit
    started = time.monotonic()

    def show_progress(step: DecodingStep, limit: int) -> None:
        if time.monotonic() - started > PATIENCE_SECONDS:
            done = step.position + 1
            waiting.progress(
                done / limit, text=f"The model is writing: {done} {unit}s so far, {limit} at the most"
            )

    run = run_or_warn(lambda: run_of(current_choice(), source, target, on_step=show_progress))
    waiting.empty()
    return run
