"""Learn: questions first, pictures afterwards; answers belong to their sentence and model."""

from __future__ import annotations

import math
import re
from itertools import product

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import HOSTILE, buttons, open_app, press, texts
from tests.pages.views import Views
from tests.support.crosses import covering
from tests.support.kinds import KINDS
from transformer.checkpoints.opening import open_model
from transformer.run import run_sentence
from viz.pages.learn.lessons import lessons
from viz.text_session import first_sentence

BOARD = "one-head where"
CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
SIGNS = ("<script", "<b>", "$x$", ":red[", ":material", "![", "\u202e", "\x1b", "\x00")
"""Text that would be markup, or could hide, outside code."""
TEXT = first_sentence("toy-en-it")


def open_lesson(lesson: str, **address: str) -> AppTest:
    app = open_app("learn", lesson=lesson, **address)
    assert not app.exception
    return app


def answer(app: AppTest, number: float) -> None:
    """Type a number as the answer to the step's question, and press Answer."""
    app.number_input(key="tokens count number").set_value(number)
    press(app, "Answer")


def test_the_list_has_every_lesson_with_what_it_answers() -> None:
    shown = texts(open_app("learn"))
    for lesson in lessons().values():
        assert f"**{lesson.number}. {lesson.title}**" in shown
        assert " ".join(lesson.asks) in shown


def test_newcomers_are_offered_the_first_lesson_until_they_have_begun() -> None:
    app = open_app()
    assert "New here? Begin with lesson 1." in texts(app)
    app = open_lesson("tokens")
    app.switch_page("viz/pages/explore/page.py").run()
    assert not app.exception
    assert "New here?" not in texts(app)


@pytest.mark.parametrize("name", lessons())
def test_every_step_of_a_lesson_opens_with_its_answers(name: str) -> None:
    app = open_lesson(name, answers="true")
    lesson = lessons()[name]
    for step in lesson.steps:
        assert step.title in [heading.value for heading in app.subheader]
        press(app, "Next")
    assert "Continue by yourself" in texts(app)
    assert [button.disabled for button in app.button if button.label == "Next"] == [True]


@pytest.mark.usefixtures("kinds")
@pytest.mark.parametrize("name, kind", covering(product(lessons(), KINDS)))
def test_every_step_opens_on_every_kind_of_model(name: str, kind: str) -> None:
    app = open_lesson(name, model=kind, answers="true", text="Yesterday I saw the dog.")
    if app.subheader:
        for _ in lessons()[name].steps:
            press(app, "Next")
        assert "Continue by yourself" in texts(app)
    else:
        assert app.info, "a lesson that can't be given says why"


def test_nothing_is_shown_before_the_question_is_answered(views: Views) -> None:
    app = open_lesson("one-head")
    assert "It is" not in texts(app)
    assert not views.data(BOARD)["revealed"]
    with pytest.raises(KeyError):
        views.array(BOARD, "values")
    views.select(app, BOARD, [0, 0])
    assert views.data(BOARD)["chosen"] == [0, 0]
    assert "**It is**" in texts(app)
    weights = views.array(BOARD, "values")
    assert math.isclose(float(np.nansum(weights)), 1, rel_tol=1e-5)
    assert views.data(BOARD)["revealed"]


def test_a_number_is_judged_beside_what_is() -> None:
    app = open_lesson("tokens")
    answer(app, 3)
    right = len(run_sentence(open_model("toy-en-it"), TEXT).trace.src_tokens[0])
    assert right != 3
    assert "**You said** 3 tokens" in texts(app)
    assert f"**It is** {right} tokens" in texts(app)
    assert "✕ Not quite." in texts(app)
    answer(app, right)
    assert "✓ Right." in texts(app)


def test_an_answer_belongs_to_its_sentence_and_model() -> None:
    app = open_lesson("tokens")
    answer(app, 3)
    app.text_input(key="text").set_value("I eat.").run()
    assert "You said" not in texts(app)
    app.text_input(key="text").set_value(TEXT).run()
    assert "You said" in texts(app)
    app.radio(key="model").set_value("random").run()
    assert "You said" not in texts(app)


def test_a_class_sees_the_answer_when_the_teacher_shows_it() -> None:
    app = open_lesson("tokens", **{"class": "true"})
    answer(app, 3)
    assert "It is" not in texts(app)
    press(app, "Show the answer")
    assert "**You said** 3 tokens" in texts(app)
    assert "Show the answer" not in buttons(app)


def test_large_type_comes_and_goes_with_the_class() -> None:
    app = open_lesson("tokens")
    app.toggle(key="class").set_value(True).run()
    assert app.toggle(key="large").value
    app.toggle(key="class").set_value(False).run()
    assert not app.toggle(key="large").value


def test_a_lesson_continues_at_the_first_step_that_was_not_read() -> None:
    app = open_lesson("tokens")
    press(app, "Next")
    press(app, "All lessons")
    assert "2 of 4 steps" in texts(app)
    press(app, "Continue")
    assert lessons()["tokens"].steps[2].title in [heading.value for heading in app.subheader]


def test_an_address_that_names_no_lesson_shows_the_list() -> None:
    app = open_lesson("no such lesson")
    assert "Begin" in buttons(app)


def test_a_sentence_too_long_to_look_at_is_refused() -> None:
    app = open_lesson("tokens", text="the cat " * 30)
    assert "at most 40 tokens" in "".join(info.value for info in app.info)


@pytest.mark.usefixtures("kinds")
def test_a_lesson_that_a_model_has_no_use_for_says_so_and_offers_the_next() -> None:
    app = open_lesson("decoder", model="masked", text=TEXT)
    assert "decoder" in "".join(info.value for info in app.info)
    assert any(button.label.startswith("Lesson 9") for button in app.button)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_whatever_is_typed_is_shown_as_it_is_or_refused(text: str) -> None:
    app = open_lesson("one-head", text=text, answers="true", model="en-it")
    for element in app.markdown:
        outside = CODE.sub("", element.value)
        assert not any(sign in outside for sign in SIGNS), element.value
