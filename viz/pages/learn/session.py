"""A reader's state in the lessons: sentence, predictions, position."""

from __future__ import annotations

import streamlit as st

from viz.address import remember
from viz.page_titles import PAGES
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.files.progress import Given, Progress
from viz.pages.learn.lessons.format.parts import Lesson
from viz.pages.learn.lessons.format.questions import Answer, Question
from viz.pages.learn.lessons.format.subject import Subject
from viz.pages.shared.sentence import SentenceRun
from viz.session import ModelChoice, RunKey, current_choice

LESSON, STEP, CLASS, ALL = "lesson", "step", "class", "answers"
"""Query parameters: lesson, step, whether a teacher reveals each answer, whether all are revealed."""
_SUBJECT, _PROGRESS, _SHOWN = "lesson subject", "lesson progress", "lesson answers shown"


def subject_of(sentence: SentenceRun) -> Subject:
    """The subject of a sentence, cached with everything computed from it until the sentence changes."""
    kept: tuple[RunKey, Subject] | None = st.session_state.get(_SUBJECT)
    if kept is None or kept[0] != sentence.key:
        kept = sentence.key, Subject(sentence.loaded, sentence.run, sentence.text)
        st.session_state[_SUBJECT] = kept
    return kept[1]


def model_said(choice: ModelChoice) -> str:
    """The model's name, under which answers are stored."""
    if choice.random is None:
        return choice.name
    sizes = choice.random
    return (
        f"random of {choice.name}: {sizes.encoder_layers} + {sizes.decoder_layers} layers, "
        f"{sizes.n_heads} heads, d_model {sizes.d_model}, seed {sizes.seed}"
    )


def progress() -> Progress:
    """The steps that this reader has read and the answers they gave."""
    kept: Progress = st.session_state.setdefault(_PROGRESS, Progress())
    return kept


def answer_to(lesson: str, question: Question, subject: Subject) -> Answer | None:
    """What was predicted for this subject; None if nothing was, or if the question doesn't accept it."""
    kept = progress().answers.get((lesson, question.name))
    if kept is None or (kept.model, kept.text) != (model_said(current_choice()), subject.asked_about):
        return None
    return kept.answer if question.accepts(subject, kept.answer) else None


def keep_answer(lesson: str, question: Question, subject: Subject, answer: Answer) -> None:
    """Store a prediction. To be called from a callback."""
    progress().answers[lesson, question.name] = Given(
        model_said(current_choice()), subject.asked_about, answer
    )


def show_answer(lesson: str, question: Question) -> None:
    """Reveal the answer to a question to a class. To be called from a callback."""
    st.session_state.setdefault(_SHOWN, set()).add((lesson, question.name))


def is_shown(lesson: str, question: Question) -> bool:
    """True if the answer to a question has been revealed to a class."""
    return (lesson, question.name) in st.session_state.get(_SHOWN, ())


def note_read(lesson: str, step: int) -> None:
    """Mark a step as read."""
    progress().read.add((lesson, step))


def steps_read(name: str) -> int:
    """The number of steps of a lesson that have been read."""
    return sum(lesson == name for lesson, _ in progress().read)


def open_lesson(name: str) -> None:
    """Go to the first unread step of a lesson, or to the list of all for "".

    To be called from a callback, or before the page is drawn.
    """
    remember(LESSON, name)
    steps = range(len(lessons()[name].steps) + 1) if name else range(1)
    st.session_state[STEP] = next((step for step in steps if (name, step) not in progress().read), 0)


def follow_term(name: str, *, is_here: bool) -> None:
    """Open the lesson about a term that was clicked.

    Args:
        name: the lesson's name; anything else is ignored.
        is_here: True if the Learn page is being drawn.
    """
    if name not in lessons():
        return
    open_lesson(name)
    if not is_here:
        st.switch_page(PAGES / "learn" / "page.py", query_params={})


def invitation() -> str:
    """Markdown that offers the first lesson to a reader who has read none; else empty."""
    name, lesson = next(iter(lessons().items()))
    if progress().read:
        return ""
    return f' New here? [Begin with lesson {lesson.number}](#lesson-{name} "{lesson.title}: five minutes.").'


def after(name: str) -> tuple[str, Lesson] | None:
    """The lesson that follows this one; None after the last."""
    names = list(lessons())
    place = names.index(name) + 1
    return (names[place], lessons()[names[place]]) if place < len(names) else None
