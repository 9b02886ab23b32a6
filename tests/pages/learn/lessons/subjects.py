"""The subjects of lessons in tests: sentences in the shipped models and in small ones of every kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from tests.support.kinds import KINDS
from tests.support.models import tiny_model, tiny_subword_model
from transformer.checkpoints.opening import open_model
from transformer.loaded import LoadedModel
from transformer.run import run_sentence
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.format.parts import (
    Contrast,
    Dial,
    Figure,
    Lesson,
    Picture,
    Shown,
    Step,
    Training,
    Viewing,
    seen,
)
from viz.pages.learn.lessons.format.questions import (
    CellQuestion,
    ChoiceQuestion,
    NumberQuestion,
    Question,
    TokenQuestion,
    asked,
    said,
)
from viz.pages.learn.lessons.format.subject import Subject
from viz.theme import palette
from viz.viewer.choice import default_choice, read_choice
from viz.viewer.viewer_run import view_run

SHIPPED = ("toy-en-it", "en-it")
SENTENCES = ("Yesterday I saw a black cat.", "I eat.", "My old dog doesn't like the cold rain in the garden.")
"""Sentences of 6, 2 and 11 words."""
SMALL: dict[str, Callable[[], LoadedModel]] = {**KINDS, "words": tiny_model, "sub-words": tiny_subword_model}


def subject_of(loaded: LoadedModel, text: str) -> Subject:
    """The subject of the lessons: a model and its run of a text."""
    return Subject(loaded, run_sentence(loaded, text), text)


@cache
def shipped(name: str) -> LoadedModel:
    """A shipped model, opened once."""
    return open_model(name)


@cache
def subject(model: str, text: str) -> Subject:
    """A sentence in a shipped model."""
    return subject_of(shipped(model), text)


def open_question(step: Step, subject: Subject) -> Question | None:
    """The question that a step asks about a subject; None if none of its questions makes sense there."""
    return asked(step.question, subject)[0]


def question_of(name: str, question: str, subject: Subject) -> Question:
    """One question of a lesson, which must be asked about this subject."""
    for step in lessons()[name].steps:
        found = open_question(step, subject)
        if found is not None and found.name == question:
            return found
    raise AssertionError(f"{name} does not ask {question} here")


def everything_of(lesson: Lesson, subject: Subject) -> Iterator[str]:
    """Make everything in a lesson, as the page does, and yield each of its Markdown texts.

    Pictures are drawn, the viewer's choices read, and answers computed, which must be possible ones.
    """
    for step in lesson.steps:
        yield step.title
        yield said(step.text, subject)
        question, reasons = asked(step.question, subject)
        yield from reasons
        if step.question is not None and question is None:
            continue
        if question is not None:
            yield said(question.asks, subject)
            _check_answer(question, subject)
            yield question.reason(subject)
        yield from _shown(seen(step.shown, subject), subject)
        if isinstance(step.contrast, Contrast):
            yield step.contrast.asks
            for case in step.contrast.cases.values():
                yield from _shown(seen(case, subject), subject)
        elif isinstance(step.contrast, Dial):
            values = list(step.contrast.values(subject))
            assert len(set(values)) == len(values) > 1
            assert step.contrast.first(subject) in values
            for value in values:
                yield from _shown(step.contrast.shown(subject, value), subject)
    yield said(lesson.takeaway, subject)


def _shown(shown: Shown, subject: Subject) -> Iterator[str]:
    yield said(shown.text, subject)
    for picture in shown.pictures:
        yield _drawn(picture, subject)


def _drawn(picture: Picture, subject: Subject) -> str:
    match picture:
        case Figure(draw, caption, _):
            figure = draw(subject, palette("light"))
            assert figure.data
            return said(caption, subject)
        case Viewing(chosen, views):
            held = view_run(subject.run, subject.loaded)
            first = replace(default_choice(held), **chosen(subject))
            assert read_choice(first.written(), held, views=views) == first, "a run has what is chosen in it"
            assert first.view in views
            return ""
        case Training():
            return ""
    raise TypeError(picture)


def _check_answer(question: Question, subject: Subject) -> None:
    """Check that there is a right answer and that it can be given."""
    match question:
        case NumberQuestion():
            answer, least, most = question.answer(subject), question.least, question.most(subject)
            assert np.isfinite(answer)
            assert least <= answer <= most
        case ChoiceQuestion():
            options = question.options(subject)
            assert len(set(options)) == len(options) > 1
            assert 0 <= question.answer(subject) < len(options)
        case TokenQuestion():
            values = question.board(subject)
            assert values.shape == (len(question.tokens(subject)),)
            assert np.isfinite(values).any()
            assert not np.isinf(values).any()
        case CellQuestion():
            values = question.board(subject)
            assert values.shape == (len(question.rows(subject)), len(question.columns(subject)))
            assert np.isfinite(values).any()
        case _:
            raise TypeError(question)
