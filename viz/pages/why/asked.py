"""What the page is asked: a word of the output, alone or rather than a rival."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st

from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.interventions.questions import (
    NEXT_BEST,
    Question,
    against_next_best,
    last_word,
    suppressed_ids,
    with_rival,
    word_questions,
)
from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.run import Run
from viz.address import as_typed, remember, remembered, whole_numbers
from viz.figures.labels import visible
from viz.markdown import quoted
from viz.pages.shared.literal_text import escaped, refused
from viz.pages.shared.sentence import SentenceRun
from viz.pages.shared.waiting import with_progress
from viz.pages.shared.why_button import WORD, word_owner
from viz.session import run_cache
from viz.theme import Theme
from viz.widgets import in_a_row, pick_button

Result = TypeVar("Result")
VERSUS, RIVAL = "versus", "rival"
"""Names of further choices in the address."""
ALONE, TYPED = "alone", "typed"
COMPARED = {
    NEXT_BEST: "rather than the next best",
    TYPED: "rather than another word",
    ALONE: "alone: its probability",
}
_PILLS = "why_word"


@dataclass(frozen=True)
class Asked:
    """A question about a sentence's run: made once per run of the page, and passed to each section.

    Attributes:
        sentence: the sentence and its run.
        questions: one per word of the output, by log-probability.
        question: the one that the user asks, possibly against a rival.
        rival: the rival as in `Inquiry`.
    """

    sentence: SentenceRun
    questions: tuple[Question, ...]
    question: Question
    rival: str

    @property
    def loaded(self) -> LoadedModel:
        """The model."""
        return self.sentence.loaded

    @property
    def run(self) -> Run:
        """The run."""
        return self.sentence.run

    @property
    def theme(self) -> Theme:
        """The colours of the user's browser."""
        return self.sentence.theme

    @property
    def own_value(self) -> float:
        """The answer in the run itself."""
        suppressed = suppressed_ids(self.loaded, self.run)
        return float(self.question.value(self.run.trace["logits"], suppressed)[0])

    def answer(self, key: Hashable, doing: str, compute: Callable[[OnProgress], Result]) -> Result:
        """A value computed once for this sentence and shared; a long wait shows a progress bar.

        If it can't be computed, for lack of memory or for a sentence that can't be run, the page says why and
        draws no more of the part that needs it.

        Args:
            key: identifies the value among those of the sentence; with the question, if it depends on it.
            doing: the text of the progress bar, such as "Switching off heads".
            compute: computes the value; it gets a function that reports progress.
        """

        def get(report: OnProgress) -> Any:
            return run_cache().get_by_steps(("why", *self.sentence.key, key), compute, report)

        try:
            result: Result = with_progress(doing, get)
        except SentenceError as error:
            refused("This can't be computed.", error)
            st.stop()
        return result


def asked_in_words(asked: Asked) -> str:
    """The quantity that a question asks for, in Markdown."""
    question = asked.question
    if question.rival_id is None:
        return f"the log-probability of {quoted(question.label)}"
    return f"the logit of {quoted(question.label)} minus that of {quoted(question.rival)}"


def ask(sentence: SentenceRun) -> Asked | None:
    """Draw the pickers of the word and its rival; None, with a note on the page, if nothing can be asked."""
    questions = tuple(word_questions(sentence.loaded, sentence.run))
    with st.container(key="question", gap="xsmall"):
        word = questions[_word(sentence, questions)]
        rival = _rival(sentence, word)
    if rival is None:
        return None
    try:
        question = with_rival(sentence.loaded, sentence.run, word, rival)
    except SentenceError as error:
        refused("The two can't be compared.", error)
        return None
    _tokens_compared(sentence, word, question)
    return Asked(sentence, questions, question, rival)


def _tokens_compared(sentence: SentenceRun, word: Question, question: Question) -> None:
    """Say which tokens stand for the words, where a word has several."""
    if question.rival_id is None:
        return
    coder = sentence.loaded.source if sentence.run.decoder_input is None else sentence.loaded.target
    own, other = (quoted(coder.token(index)) for index in (question.ids[0], question.rival_id))
    if len(word.ids) > 1 or coder.decode([question.rival_id]).strip() != question.rival:
        st.caption(f"Compared by the first token in which they differ: {own} against {other}.")


def _word(sentence: SentenceRun, questions: Sequence[Question]) -> int:
    """Draw the words of the output; returns the index of the chosen one.

    The address holds the index: a word may occur twice.
    """
    owner = word_owner(sentence.choice, sentence.text)
    default = last_word(questions)
    chosen = whole_numbers(remembered(WORD, str(default), owner))
    st.session_state[_PILLS] = chosen[0] if chosen and chosen[0] < len(questions) else default
    word = st.pills(
        "Why this word?",
        range(len(questions)),
        key=_PILLS,
        required=True,
        format_func=lambda place: escaped(visible(questions[place].label)),
        on_change=lambda: remember(WORD, str(st.session_state[_PILLS]), owner),
    )
    assert word is not None
    return word


def _rival(sentence: SentenceRun, word: Question) -> str | None:
    """Draw the picker of the rival; returns it as in `Inquiry`, None until one is typed."""
    with st.container(horizontal=True, vertical_alignment="center"):
        versus = pick_button(in_a_row(), "Compared with", COMPARED, key=VERSUS, label_visibility="collapsed")
        beside = st.container(width="content", vertical_alignment="center")
    if versus == ALONE:
        return ""
    if versus == NEXT_BEST:
        best = against_next_best(sentence.loaded, sentence.run, word)
        beside.text(f"The next best here: {visible(best.rival)}")
        return NEXT_BEST
    typed = beside.text_input(
        "Another word",
        key=RIVAL,
        bind="query-params",
        placeholder="Type a word",
        label_visibility="collapsed",
        width=220,
    )
    if not as_typed(typed).strip():
        st.info("Type the word that the model could have written instead.")
        return None
    return as_typed(typed)
