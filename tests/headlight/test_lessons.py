"""A lesson in a notebook: it asks, checks answers by the run, shows pictures, and refuses with a reason."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

import headlight
from headlight.lessons import Checked, Lesson
from headlight.widget import AttentionWidget
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.format.parts import Dial

TEXT = "Yesterday I saw a black cat."


@pytest.fixture(scope="module")
def one_head() -> Lesson:
    return headlight.lesson("one-head", headlight.open("toy-en-it"), TEXT)


def test_a_question_is_asked_with_what_can_be_answered(one_head: Lesson) -> None:
    asked = repr(one_head.ask("where"))
    assert "`yesterday` | 0" in asked.lower()


def test_an_answer_is_checked_by_the_run(one_head: Lesson) -> None:
    run = headlight.run(headlight.open("toy-en-it"), TEXT)
    verdicts = [one_head.check("where", place) for place in range(len(run.trace.src_tokens[0]))]
    assert sum(isinstance(verdict, Checked) and verdict.is_right for verdict in verdicts) == 1
    assert all("✓ Right." in repr(v) for v in verdicts if isinstance(v, Checked) and v.is_right)


def test_no_answer_yet_is_no_mistake(one_head: Lesson) -> None:
    told = one_head.check("where", ...)
    assert not isinstance(told, Checked)
    assert "the position of one of the tokens" in repr(told)


def test_a_cell_may_be_a_tuple() -> None:
    masks = headlight.lesson("masks", headlight.open("toy-en-it"), TEXT)
    seen = masks.check("future", (0, 1))
    assert isinstance(seen, Checked)
    assert seen.is_right


def test_pictures_and_the_viewer_are_shown_in_their_order(one_head: Lesson) -> None:
    parts = [part for step in range(4) for part in one_head.show(step).parts]
    for kind in (str, go.Figure, AttentionWidget):
        assert any(isinstance(part, kind) for part in parts), kind
    assert one_head.show(3, "All weights equal").parts != one_head.show(3, "This head").parts


def test_a_dial_is_turned() -> None:
    scale = headlight.lesson("scale", headlight.open("toy-en-it"), TEXT)
    step = next(n for n, step in enumerate(lessons()["scale"].steps) if isinstance(step.contrast, Dial))
    with pytest.raises(ValueError, match=r"has no 0\.123: it has .*\b1\b"):
        scale.show(step, 0.123)
    assert any(isinstance(part, go.Figure) for part in scale.show(step, 1).parts)


def test_what_there_is_not_is_refused_with_what_there_is(one_head: Lesson) -> None:
    with pytest.raises(ValueError, match="choose one of tokens, positions"):
        headlight.lesson("no-such", headlight.open("toy-en-it"), TEXT)
    with pytest.raises(ValueError, match="there is 'where', 'score'"):
        one_head.ask("what")
    with pytest.raises(ValueError, match="can't be the answer: write the position"):
        one_head.check("where", 1000)
    with pytest.raises(ValueError, match="has 0 to 3"):
        one_head.show(4)
    with pytest.raises(ValueError, match="it has 'This head', 'All weights equal'"):
        one_head.show(3, "none")


def test_a_lesson_says_what_it_has(one_head: Lesson) -> None:
    assert repr(one_head) == "<Lesson 3, One head by hand: where, score, ratio, output>"
