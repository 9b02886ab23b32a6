"""The lesson written in docs/lessons.md: it is as sound as the shipped ones."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.pages.learn.lessons.subjects import SENTENCES, SHIPPED, SMALL, everything_of, subject, subject_of
from tests.pages.learn.lessons.test_sound import check_sound
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.format.parts import Lesson

DOCS = Path(__file__).resolve().parents[4] / "docs" / "lessons.md"


@pytest.fixture(scope="module")
def example() -> Iterator[Lesson]:
    """The lesson, loaded as a module."""
    (source,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("longest")
    sys.modules["longest"] = module
    exec(compile(source, "longest.py", "exec"), module.__dict__)  # noqa: S102 -- our own file
    yield module.LESSON
    del sys.modules["longest"]


def test_it_is_sound_and_comes_next(example: Lesson) -> None:
    check_sound("longest", example)
    assert example.number == len(lessons()) + 1


@pytest.mark.parametrize("model", SHIPPED)
def test_it_answers_from_the_run(example: Lesson, model: str) -> None:
    of = subject(model, SENTENCES[2])
    (step,) = example.steps
    assert step.question is not None
    last = of.config.n_encoder_layers - 1
    place = int(of.run.trace[f"encoder.layers.{last}.resid_post"][0].norm(dim=-1).argmax())
    assert f"at position {place}" in step.question.solution(of).right


@pytest.mark.parametrize("kind", SMALL)
def test_it_opens_on_every_kind_of_model(example: Lesson, kind: str) -> None:
    assert all(
        isinstance(text, str)
        for text in everything_of(example, subject_of(SMALL[kind](), "the cat saw a dog"))
    )


def test_the_docs_name_lessons_and_steps_as_they_are_called() -> None:
    rows = re.findall(
        r"^\| ([^|]+\?) \| (\d+) ([^|]+?) \| ([^|]+) \|", DOCS.read_text(encoding="utf-8"), re.M
    )
    assert len(rows) == 17
    for _, number, title, steps in rows:
        lesson = next(lesson for lesson in lessons().values() if lesson.number == int(number))
        assert lesson.title == title
        first, name = steps.split(" ", 1)
        assert name.startswith(lesson.steps[int(first) - 1].title), steps
