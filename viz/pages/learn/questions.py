"""Draw a lesson's question, its answer controls and the verdict."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from viz.components.prediction import Board, Place, prediction
from viz.figures.labels import visible
from viz.glossary import linked
from viz.pages.learn.lessons.format.questions import (
    Answer,
    BoardQuestion,
    ChoiceQuestion,
    NumberQuestion,
    Question,
    Verdict,
    said,
)
from viz.pages.learn.lessons.format.subject import Subject
from viz.pages.learn.session import ALL, CLASS, answer_to, is_shown, keep_answer, show_answer
from viz.session import current_theme

WRITTEN = 100
"""A range is shown if it ends at or below this; a larger one only guards against typing errors."""


def ask(lesson: str, question: Question, subject: Subject, known: set[str]) -> bool:
    """Draw a question, its answer controls and, once revealed, the verdict; True if it is revealed.

    Args:
        lesson: its name.
        question: the question.
        subject: what it is about.
        known: terms already explained in the text above; see `linked`.
    """
    given = answer_to(lesson, question, subject)
    is_for_class = bool(st.session_state.get(CLASS))
    is_revealed = bool(st.session_state.get(ALL)) or (
        is_shown(lesson, question) if is_for_class else given is not None
    )
    with st.container(border=True):
        st.markdown(linked(said(question.asks, subject), known))
        _answering(lesson, question, subject, given, is_revealed=is_revealed)
        if is_revealed:
            verdict = question.solution(subject) if given is None else question.judge(subject, given)
            _verdict(verdict, known)
        elif is_for_class:
            st.button(
                "Show the answer",
                key=f"show {lesson} {question.name}",
                on_click=show_answer,
                args=(lesson, question),
            )
    return is_revealed


def _answering(
    lesson: str, question: Question, subject: Subject, given: Answer | None, *, is_revealed: bool
) -> None:
    """Draw the answer controls."""
    keep = partial(keep_answer, lesson, question, subject)
    key = f"{lesson} {question.name}"
    match question:
        case BoardQuestion():
            _board(question, subject, given, key, keep, is_revealed=is_revealed)
        case NumberQuestion():
            _number(question, subject, given, key, keep)
        case ChoiceQuestion():
            _choice(question, subject, given, key, keep)


def _board(
    question: BoardQuestion,
    subject: Subject,
    given: Answer | None,
    key: str,
    keep: partial[None],
    *,
    is_revealed: bool,
) -> None:
    rows, columns, axes = question.labels(subject)
    chosen: Place | None = None
    if given is not None:
        chosen = (given[0], given[1]) if isinstance(given, list) else (0, int(given))
    prediction(
        Board(
            columns=list(map(visible, columns)),
            rows=list(map(visible, rows)),
            axes=axes,
            values=np.atleast_2d(question.board(subject)),
            right=np.atleast_2d(question.right_places(subject)),
            unit=question.unit,
        ),
        colors=current_theme(),
        key=key,
        title="Your prediction",
        chosen=chosen,
        is_revealed=is_revealed,
        on_predict=lambda place: keep(list(place) if rows else place[1]),
    )


def _number(
    question: NumberQuestion, subject: Subject, given: Answer | None, key: str, keep: partial[None]
) -> None:
    least, most = float(question.least), float(question.most(subject))
    is_whole = float(question.step).is_integer()

    def take() -> None:
        value = st.session_state.get(f"{key} number")
        if value is not None:
            keep(value)

    with st.form(f"{key} form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        kept = given if isinstance(given, int | float) else None
        st.number_input(
            f"Your answer: {question.unit}" + (f", from {least:g} to {most:g}" if most <= WRITTEN else ""),
            int(least) if is_whole else least,
            int(most) if is_whole else most,
            (int(kept) if is_whole else float(kept)) if kept is not None else None,
            int(question.step) if is_whole else question.step,
            key=f"{key} number",
            width=360,
        )
        st.form_submit_button("Answer", on_click=take)


def _choice(
    question: ChoiceQuestion, subject: Subject, given: Answer | None, key: str, keep: partial[None]
) -> None:
    options = list(question.options(subject))

    def take() -> None:
        value = st.session_state.get(f"{key} choice")
        if value is not None:
            keep(value)

    st.radio(
        "Your answer",
        range(len(options)),
        given if isinstance(given, int) else None,
        format_func=options.__getitem__,
        key=f"{key} choice",
        on_change=take,
    )


def _verdict(verdict: Verdict, known: set[str]) -> None:
    """The prediction next to the right answer."""
    if verdict.given:
        sign = "✓ Right." if verdict.is_right else "✕ Not quite."
        left, right = st.columns(2)
        left.markdown(f"**You said** {verdict.given}")
        right.markdown(f"**It is** {verdict.right}")
        st.markdown(f"**{sign}** {linked(verdict.reason, known)}")
    else:
        st.markdown(f"**It is** {verdict.right}")
        st.markdown(linked(verdict.reason, known))
