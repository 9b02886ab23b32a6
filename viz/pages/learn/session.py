"""What a reader of the lessons is at: their sentence, what they have predicted, and where they are."""

from __future__ import annotations

from typing import Any

import streamlit as st

from transformer.run import Run
from viz.lessons import lessons
from viz.lessons.judging import Answer, is_answer
from viz.lessons.parts import Lesson, Question
from viz.lessons.subject import Subject
from viz.session import current_choice, current_model, random_twin
from viz.text_session import current_texts

LESSON, STEP, CLASS, ALL = "lesson", "step", "class", "answers"
"""Names in the address: the lesson, the step in it, whether a teacher shows the answers, whether all are."""
_SUBJECT, _ANSWERS, _SHOWN, _READ = "lesson subject", "lesson answers", "lesson answers shown", "lesson steps"

About = tuple[str, str]
"""What an answer is about: a model and a sentence."""


def subject_of(run: Run) -> Subject:
    """What the lessons are about now. It is kept, with all that was computed of it, until that changes."""
    choice, (text, _) = current_choice(), current_texts()
    kept: tuple[Any, Subject] | None = st.session_state.get(_SUBJECT)
    if kept is None or kept[0] != (choice, text):
        subject = Subject(current_model(), run, text, lambda seed, place: random_twin(choice, seed, place))
        kept = ((choice, text), subject)
        st.session_state[_SUBJECT] = kept
    return kept[1]


def about(subject: Subject) -> About:
    """What answers to questions on this subject are about."""
    return subject.loaded.name, subject.text


def answer_to(lesson: str, question: Question, subject: Subject) -> Answer | None:
    """What was predicted of this subject; None where nothing was, or what can't be answered."""
    kept = _answers().get((lesson, question.name))
    if kept is None or kept[0] != about(subject) or not is_answer(question, subject, kept[1]):
        return None
    return kept[1]


def keep_answer(lesson: str, question: Question, subject: Subject, answer: Answer) -> None:
    """Keep a prediction. To be called from a callback."""
    _answers()[lesson, question.name] = about(subject), answer


def all_answers() -> dict[tuple[str, str], tuple[About, Answer]]:
    """All that was predicted: what it is about and the answer, by lesson and question."""
    return dict(_answers())


def put_answers(answers: dict[tuple[str, str], tuple[About, Answer]]) -> None:
    """Take what was predicted from a file. To be called from a callback."""
    _answers().update(answers)


def show_answer(lesson: str, question: Question) -> None:
    """Show a class the answer to a question. To be called from a callback."""
    st.session_state.setdefault(_SHOWN, set()).add((lesson, question.name))


def is_shown(lesson: str, question: Question) -> bool:
    """Whether a class has been shown the answer to a question."""
    return (lesson, question.name) in st.session_state.get(_SHOWN, ())


def note_read(lesson: str, step: int) -> None:
    """Note that a step has been seen."""
    st.session_state.setdefault(_READ, set()).add((lesson, step))


def steps_read(name: str) -> int:
    """How many steps of a lesson have been seen."""
    return sum(lesson == name for lesson, _ in st.session_state.get(_READ, ()))


def open_lesson(name: str) -> None:
    """Go to the first step of a lesson; to the list of all for "". To be called from a callback."""
    st.session_state[LESSON] = name
    st.session_state[STEP] = 0


def after(name: str) -> tuple[str, Lesson] | None:
    """The lesson that follows one; None after the last."""
    names = list(lessons())
    place = names.index(name) + 1
    return (names[place], lessons()[names[place]]) if place < len(names) else None


def _answers() -> dict[tuple[str, str], tuple[About, Answer]]:
    answers: dict[tuple[str, str], tuple[About, Answer]] = st.session_state.setdefault(_ANSWERS, {})
    return answers
