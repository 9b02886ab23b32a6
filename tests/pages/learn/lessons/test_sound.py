"""What every lesson must have: if a teacher's file lacks it, a test fails here that names the lesson."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.pages.learn.lessons.subjects import SENTENCES, open_question, subject
from viz.page_titles import TITLES
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.format.parts import Figure, Lesson, seen
from viz.pages.learn.lessons.format.questions import (
    CellQuestion,
    ChoiceQuestion,
    Question,
    TokenQuestion,
    said,
)

LESSONS = lessons()
NAME = re.compile(r"[a-z]+(-[a-z0-9]+)*")
SENTENCE_END = re.compile(r"[.!?](?=\s|$)")


def questions_of(lesson: Lesson) -> Iterator[Question]:
    """All questions that may be asked, including alternatives."""
    for step in lesson.steps:
        question = step.question
        while question is not None:
            yield question
            question = question.instead


def test_numbers_are_those_of_the_order() -> None:
    numbers = {name: lesson.number for name, lesson in LESSONS.items()}
    assert list(numbers.values()) == list(range(1, len(LESSONS) + 1)), numbers


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_sound(name: str) -> None:
    check_sound(name, LESSONS[name])


def check_sound(name: str, lesson: Lesson) -> None:
    """Check what every lesson must satisfy, whatever it is about."""
    questions = list(questions_of(lesson))
    names = [question.name for question in questions]
    assert all(map(NAME.fullmatch, (name, *names))), names
    assert len(set(names)) == len(names), "answers are kept by the names of their questions"
    assert any(not isinstance(question, ChoiceQuestion) for question in questions), (
        "there is more than choosing"
    )
    assert any(step.contrast is not None for step in lesson.steps), "there is something to switch"
    assert lesson.asks
    assert all(asked.endswith("?") for asked in lesson.asks)
    assert lesson.onward
    assert {way.page for way in lesson.onward} <= set(TITLES)
    assert len({step.title for step in lesson.steps}) == len(lesson.steps)


@pytest.mark.parametrize("name", LESSONS)
def test_one_sentence_is_taken_away(name: str) -> None:
    taken = said(LESSONS[name].takeaway, subject("toy-en-it", SENTENCES[0]))
    assert SENTENCE_END.findall(taken) == ["."]
    assert taken.endswith(".")
    assert len(taken.split()) <= 35, "it is to be remembered"


@pytest.mark.parametrize("name", LESSONS)
def test_answers_are_computed(name: str) -> None:
    """Some right answer differs between sentences or models: no lesson contains its answers."""
    subjects = [subject("toy-en-it", SENTENCES[0]), subject("en-it", SENTENCES[1])]
    told = [
        [question.solution(of).right for step in LESSONS[name].steps if (question := open_question(step, of))]
        for of in subjects
    ]
    assert told[0] != told[1]


@pytest.mark.parametrize("name", LESSONS)
def test_what_is_right_is_an_answer_and_judged_so(name: str) -> None:
    of = subject("toy-en-it", SENTENCES[0])
    for step in LESSONS[name].steps:
        question = open_question(step, of)
        if isinstance(question, TokenQuestion | CellQuestion):
            places = question.right_places(of)
            assert places.any()
            flat = int(places.argmax())
            answer = flat if places.ndim == 1 else [int(n) for n in divmod(flat, places.shape[1])]
            assert question.accepts(of, answer)
            assert question.judge(of, answer).is_right
        if question is not None:
            verdict = question.solution(of)
            assert verdict.is_right
            assert verdict.right
            assert verdict.reason


@pytest.mark.parametrize("name", LESSONS)
def test_pictures_are_named_apart(name: str) -> None:
    """Pictures are saved under their names."""
    of = subject("toy-en-it", SENTENCES[0])
    shown = [seen(step.shown, of) for step in LESSONS[name].steps]
    names = [picture.name for one in shown for picture in one.pictures if isinstance(picture, Figure)]
    assert len(set(names)) == len(names)
    assert all(map(NAME.fullmatch, names))
