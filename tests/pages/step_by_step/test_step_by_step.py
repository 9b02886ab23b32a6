"""Step by step: drawing every stage of every kind of model, and moving between stages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import viz.pages.step_by_step.session as session
from tests.pages.app import buttons, open_app, press, texts
from tests.pages.models.page import opened
from tests.pages.step_by_step.stages.ways import SIDES, TEXTS, way_of
from tests.pages.views import Views
from tests.support.kinds import MASK
from tests.viz.mounted import unpack_frame
from transformer.model.trace import Stack
from viz.components.shared.client_view import ClientView
from viz.components.stage import stage_view
from viz.pages.step_by_step.pictures import MOST_COLUMNS, MOST_ROWS, pictures_of
from viz.pages.step_by_step.stage import numbered, recorded
from viz.pages.step_by_step.stages.walk import stages_of
from viz.theme import palette

WORD = way_of("toy-en-it", "decoder").tokens("decoder")[3]
PAGE, PICTURES, DRAWING = "step_by_step", "stage_pictures", "way_architecture"
KINDS_STAGES = [
    ("prompted", "round"),
    ("rotary", "self-q-rotary"),
    ("masked", "transform"),
    ("reader", "ff-sum"),
    ("relative", "self-bias"),
    ("languages", "target-tokens"),
    ("stacks", "memory"),
]


def start(**address: str) -> AppTest:
    app = open_app(PAGE, **address)
    assert not app.exception
    return app


def title(app: AppTest) -> str:
    return str(app.header[0].value)


@pytest.mark.parametrize("name, stack", SIDES)
def test_every_stage_of_every_model_can_be_drawn(
    monkeypatch: pytest.MonkeyPatch, name: str, stack: Stack
) -> None:
    frames: list[bytes] = []
    monkeypatch.setattr(ClientView, "show", lambda self, frame, **options: frames.append(frame))
    way = way_of(name, stack)
    for stage in stages_of(way):
        pictures = pictures_of(stage, way)
        stage_view(pictures, stage=stage.name, colors=palette("light"), key="", title=stage.title)
        data, arrays = unpack_frame(frames[-1])
        assert [picture["sign"] for picture in data["pictures"]][1:] == [
            *(one.sign for one in stage.operands[1:]),
            *([data["pictures"][-1]["sign"]] if stage.operands else []),
        ]
        assert data["pictures"][-1]["sign"] in ("=", "→") or not stage.operands
        shown = arrays[f"values{len(pictures) - 1}"]
        np.testing.assert_array_equal(shown, stage.result.values[:MOST_ROWS, :MOST_COLUMNS])
        assert data["pictures"][-1]["rows"]["count"] == len(stage.result.values)
        assert recorded(stage)
        for lines in stage.code:
            assert numbered(lines.text, lines.first).lstrip().startswith(f"{lines.first}  ")


@pytest.mark.parametrize("kind, stage", KINDS_STAGES)
@pytest.mark.usefixtures("kinds")
def test_a_stage_of_each_kind_opens(views: Views, kind: str, stage: str) -> None:
    opened(kind, PAGE, stage=stage)
    assert views.data(PICTURES)["stage"].split()[0] == stage


def test_the_address_says_stage_layer_head_and_row(views: Views) -> None:
    app = start(
        stage="self-weights", text=TEXTS["toy-en-it"], side="Decoder", layer="1", head="2", row=f"3: {WORD}"
    )
    assert title(app) == "Weights: softmax over the keys"
    assert views.data(PICTURES)["stage"] == "self-weights decoder 1 2"
    assert views.data(PICTURES)["pictures"][-1]["marked"] == 3
    assert views.data(DRAWING)["here"] == "decoder.layers.0.self_attn"
    assert "`decoder.layers.1.self_attn.weights`" in texts(app)
    assert "`[0, 2]`" in texts(app)
    assert 'tap("weights"' in app.code[0].value


@pytest.mark.usefixtures("kinds")
def test_a_masked_word_is_the_row_that_is_followed() -> None:
    app = opened("masked", PAGE, text=f"I {MASK} the dog.", stage="choice")
    assert app.selectbox(key="row").value == 2
    assert f"In this place the sentence has `{MASK}`" in texts(app)


def test_next_and_back(views: Views) -> None:
    app = start()
    assert title(app) == "The text"
    assert app.button(key="stage_back").disabled
    press(app, "Next")
    assert title(app) == "Tokens"
    assert app.query_params["stage"] == "tokens"
    press(app, "Back")
    assert title(app) == "The text"
    assert "stage" not in app.query_params
    app = start(stage="round")
    assert app.button(key="stage_next").disabled


def test_the_slider_goes_to_any_stage() -> None:
    app = start()
    slider = app.select_slider(key="stage_slider")
    number = next(i for i, option in enumerate(slider.options) if option.endswith("Probabilities"))
    slider.set_value(number).run()
    assert not app.exception
    assert title(app) == "Probabilities"
    assert app.query_params["stage"] == "probabilities"


def test_another_layer_and_head_keep_the_stage(views: Views) -> None:
    app = start(stage="ff-hidden")
    before = views.array(PICTURES, "values0")
    app.selectbox(key="layer").set_value(1).run()
    assert title(app).startswith("Hidden numbers")
    assert views.data(PICTURES)["stage"] == "ff-hidden encoder 1 0"
    assert not np.array_equal(before, views.array(PICTURES, "values0"))


def test_a_click_on_a_block_leads_to_its_first_stage(views: Views) -> None:
    app = start(stage="text")
    views.select(app, DRAWING, "encoder.layers.0.feed_forward")
    assert title(app).startswith("Hidden numbers")
    views.select(app, DRAWING, "generator")
    assert title(app) == "Logits"
    views.select(app, DRAWING, "encoder.layers.9.nothing")
    assert title(app) == "Logits", "a place that is not in the drawing"


def test_a_click_on_a_block_of_the_other_stack_goes_there(
    views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through a button, because only a callback can move a picker."""

    def drawn(*given: object, on_jump: Callable[[str], None], **looks: object) -> None:
        st.button("cross", on_click=on_jump, args=("decoder.layers.0.cross_attn",))

    monkeypatch.setattr("viz.pages.step_by_step.walk.architecture_view", drawn)
    app = start(layer="1")
    press(app, "cross")
    assert title(app) == "Queries of head 0"
    assert views.data(PICTURES)["stage"] == "cross-q decoder 1 0"
    assert app.query_params["side"] == "Decoder"


def test_a_stage_that_there_is_not_begins_at_the_first() -> None:
    assert title(start(stage="nonsense")) == "The text"
    assert title(start(stage="cross-q", side="Encoder")) == "The text"


def test_the_words_say_what_the_next_step_reads() -> None:
    generated = start(stage="round")
    assert "is put after what the decoder has read" in texts(generated)
    forced = start(stage="round", target="la mia gatta")
    assert "Teacher forcing: row 1 reads the given `la`" in texts(forced)


def test_a_long_sentence_is_not_drawn(views: Views) -> None:
    app = start(text="the cat " * 30)
    assert "at most 40 tokens" in app.info[0].value
    assert PICTURES not in views.frames


# Play


class Clock:
    """A clock that advances only when the test says so."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(session, "time", clock)
    return clock


def tick(app: AppTest, clock: Clock, seconds: float = session.SECONDS_A_STAGE) -> None:
    clock.now += seconds
    app.run()
    assert not app.exception


def test_play_goes_from_stage_to_stage_and_stops_at_the_end(clock: Clock) -> None:
    app = start(stage="choice")
    press(app, "Play")
    assert title(app) == "The chosen token"
    tick(app, clock, 0.1)
    assert title(app) == "The chosen token", "it has not been shown long enough"
    tick(app, clock)
    assert title(app) == "Round again"
    assert "Play" in buttons(app)
    tick(app, clock)
    assert title(app) == "Round again"
    press(app, "Play")
    assert title(app) == "The text", "after the last stage it begins at the first"


@pytest.mark.parametrize("act", ["Stop", "Back", "Next"])
def test_play_stops_when_the_reader_acts(clock: Clock, act: str) -> None:
    app = start(stage="ids")
    press(app, "Play")
    assert "Stop" in buttons(app)
    press(app, act)
    here = title(app)
    tick(app, clock)
    assert title(app) == here
    assert "Play" in buttons(app)


def test_play_stops_with_another_layer_or_sentence(clock: Clock) -> None:
    app = start(stage="self-q")
    press(app, "Play")
    app.selectbox(key="layer").set_value(1).run()
    assert "Play" in buttons(app)
    press(app, "Play")
    app.text_input(key="text").set_value("the black cat").run()
    here = title(app)
    tick(app, clock)
    assert title(app) == here
    assert "Play" in buttons(app)


def test_play_is_over_for_who_comes_back_to_the_page(clock: Clock) -> None:
    app = start(stage="ids")
    press(app, "Play")
    here = title(app)
    tick(app, clock, session.LEFT_SECONDS + 1)
    assert title(app) == here
    assert "Play" in buttons(app)
