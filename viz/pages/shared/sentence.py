"""The sentence box at the top of a page, and the run that all sections of the page are about."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st

from transformer.decoding.greedy import DecodingStep
from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.run import Run
from transformer.text.coder import Unit
from viz.pages.shared.caution import warn_of_unknown
from viz.pages.shared.literal_text import escaped
from viz.pages.shared.model_words import (
    kind_examples,
    source_label,
    source_placeholder,
    target_label,
    token_unit,
    typing_note,
)
from viz.session import ModelChoice, RunKey, current_choice, current_model, current_theme, run_of
from viz.text_session import Boxes, boxes_of, examples_of, typed_texts, use_sentence
from viz.theme import Theme

Result = TypeVar("Result")
_EXAMPLE, _ALL_EXAMPLES = "example", "all examples"
_MORE, _FEWER = "more …", "fewer"
N_EXAMPLES = 3
"""Examples that are offered before the user asks for more."""
LONGEST_EXAMPLE, LAST_WORDS = 45, 4
"""Characters of the longest example that is shown whole; of a longer one, the last words are shown."""
FORCING_NOTE = (
    "Type a target to see how the model scores it: at each step it then reads your words so far (teacher "
    "forcing). Left empty, the model continues with its own words."
)
WORDLESS_NOTE = "This model has no generator, so it can't write: its decoder reads what you type here."
PATIENCE_SECONDS = 0.3
"""Longer waits show a progress bar."""


@dataclass(frozen=True)
class SentenceRun:
    """A sentence in the chosen model: made once per run of a page, and passed to each of its sections.

    Attributes:
        choice: the model, as a cache key.
        loaded: the model.
        text: the source or prompt, as typed.
        target: the target as typed; "" if the model generates it.
        run: the model's run of both.
        theme: the colours of the user's browser.
    """

    choice: ModelChoice
    loaded: LoadedModel
    text: str
    target: str
    run: Run
    theme: Theme

    @property
    def key(self) -> RunKey:
        """Everything that determines the run."""
        return RunKey(self.choice, self.text, self.target)

    @property
    def config(self) -> TransformerConfig:
        """The model's configuration."""
        return self.loaded.model.config

    @property
    def unit(self) -> Unit:
        """What a token of the model is."""
        return token_unit(self.loaded)


def sentence_box(*, with_target: bool = True, most_tokens: int | None = None) -> SentenceRun | None:
    """Draw the box, and run the sentence in it.

    Returns None if there is no run or the sentence is too long for the page; the page then says why.

    Args:
        with_target: also draw a box for the target; without one the model generates it.
        most_tokens: the most tokens per side on a page that shows all of them at once.
    """
    choice, loaded = current_choice(), current_model()
    with st.container(key="sentence_box", gap="xsmall"):
        if with_target and loaded.model.config.n_decoder_layers:
            left, right = st.columns([3, 2])
            with left:
                source_input(loaded)
            with right:
                _target_input(loaded)
        else:
            source_input(loaded)
        examples = examples_of(choice.name) or dict.fromkeys(kind_examples(loaded), "")
        example_pills(examples, boxes_of(loaded))
    text, target = typed_texts(loaded)
    key = RunKey(choice, text, target if with_target else "")
    run = _run(key, loaded.target.unit)
    if run is None:
        return None
    n = max(map(len, (*run.trace.src_tokens, *run.trace.tgt_tokens)))
    if most_tokens is not None and n > most_tokens:
        st.info(
            "This page shows every token at once, so source and target may have at most "
            f"{most_tokens} tokens each; this sentence has {n}. Type a shorter one."
        )
        return None
    warn_of_unknown(run, loaded)
    return SentenceRun(choice, loaded, key.text, key.target, run, current_theme())


def run_or_warn(compute: Callable[[], Result], waiting: str = "Running the model …") -> Result | None:
    """Compute something from a sentence; None if that fails, and the page then says why."""
    try:
        with st.spinner(waiting, show_time=True):
            return compute()
    except SentenceError as error:
        st.warning(str(error))
        return None


def source_input(loaded: LoadedModel) -> None:
    """Draw the box for the text that the model reads."""
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
        placeholder=f"{target_label(loaded)}, or let the model write it"
        if has_generator
        else "What the decoder reads",
        help=FORCING_NOTE if has_generator else WORDLESS_NOTE,
    )


def example_pills(examples: Mapping[str, str], boxes: Boxes) -> None:
    """Offer example sentences, each labelled with what it shows; a click puts one into the box."""

    def label(sentence: str) -> str:
        if sentence in (_MORE, _FEWER):
            return sentence
        words = sentence.split()
        brief = sentence if len(sentence) <= LONGEST_EXAMPLE else f"… {' '.join(words[-LAST_WORDS:])}"
        shows = examples[sentence]
        return f":gray[{shows}:] {escaped(brief)}" if shows else escaped(brief)

    offered = list(examples)
    if len(offered) > N_EXAMPLES + 1:
        shows_all = st.session_state.get(_ALL_EXAMPLES, False)
        offered = [*offered, _FEWER] if shows_all else [*offered[:N_EXAMPLES], _MORE]
    if offered:
        st.pills(
            "Examples",
            offered,
            key=_EXAMPLE,
            on_change=_take_example,
            args=(boxes,),
            format_func=label,
            label_visibility="collapsed",
        )


def _take_example(boxes: Boxes) -> None:
    chosen = st.session_state[_EXAMPLE]
    if chosen in (_MORE, _FEWER):
        st.session_state[_ALL_EXAMPLES] = chosen == _MORE
    elif chosen is not None:
        use_sentence(boxes, chosen)
    st.session_state[_EXAMPLE] = None


def _run(key: RunKey, unit: Unit) -> Run | None:
    waiting = st.empty()
    started = time.monotonic()

    def show_progress(step: DecodingStep, limit: int) -> None:
        if time.monotonic() - started > PATIENCE_SECONDS:
            done = step.position + 1
            waiting.progress(
                done / limit, text=f"The model is writing: {done} {unit}s so far, at most {limit}"
            )

    run = run_or_warn(lambda: run_of(*key, on_step=show_progress))
    waiting.empty()
    return run
