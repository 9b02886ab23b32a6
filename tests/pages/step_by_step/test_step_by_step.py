"""Step by step: drawing every stage of every kind of model, and moving between stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.pages.app import open_app, press, texts
from tests.pages.models.page import opened
from tests.pages.step_by_step.stages.ways import SIDES, TEXTS, way_of
from tests.pages.views import Views
from tests.support.renumbered import MASK
from tests.viz.mounted import unpack_frame
from transformer.model.trace import Stack
from viz.components.shared.client_view import ClientView
from viz.components.stage import stage_view
from viz.pages.step_by_step.pictures import MOST_COLUMNS, MOST_ROWS, pictures_of
from viz.pages.step_by_step.stage import numbered, recorded
from viz.pages.step_by_step.stages.stage import Stage
from viz.pages.step_by_step.stages.walk import stages_of
from viz.theme import palette

WORD = way_of("toy-en-it", "decoder").tokens("decoder")[3]
PAGE, PATH, PICTURES, DRAWING = "step_by_step", "token_path", "stage_pictures", "way_architecture"
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
        assert_shares_a_range(data["pictures"], stage)
        assert data["pictures"][-1]["rows"]["count"] == len(stage.result.values)
        assert recorded(stage, way)
        for lines in stage.code:
            assert numbered(lines.text, lines.first).lstrip().startswith(f"{lines.first}  ")


def assert_shares_a_range(pictures: list[dict[str, Any]], stage: Stage) -> None:
    """A division changes the colours, not the scale."""
    if stage.name.endswith("self-scale"):
        assert pictures[0]["range"] == pictures[-1]["range"]
        assert pictures[0]["is_shared"]


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


def test_the_pictures_follow_the_path_and_the_path_the_address(views: Views) -> None:
    app = start()
    data = views.data(PATH)
    assert data["here"] == "text", "the path begins with what was typed"
    views.select(app, PATH, "cross-z")
    assert title(app) == "Weights times values"
    assert app.query_params["stage"] == "cross-z"
    app.run()
    assert views.data(PATH)["here"] == "cross-z", "a rerun of the whole page shows the same step"
    data = views.data(PATH)
    views.select(app, DRAWING, "generator")
    moved = views.data(PATH)
    assert moved["here"] == "logits"
    assert moved["moves"] > data["moves"]


def test_the_first_token_is_a_word_at_which_something_is_seen() -> None:
    app = start(text=TEXTS["en-it"], model="en-it")
    way = way_of("en-it", "decoder")
    token = way.tokens("decoder")[int(str(app.selectbox(key="row").value))]
    assert token.startswith("▁")
    assert token[1:].isalpha()
    app = start(text=TEXTS["en-it"], model="en-it", side="Encoder")
    assert int(str(app.selectbox(key="source_row").value)) < len(way.tokens("encoder")) - 2, (
        "neither “.” nor <eos>"
    )


def test_another_layer_and_head_keep_the_stage(views: Views) -> None:
    app = start(stage="ff-hidden", side="Encoder")
    before = views.array(PICTURES, "values0")
    app.selectbox(key="layer").set_value(1).run()
    assert title(app).startswith("Hidden numbers")
    assert views.data(PICTURES)["stage"] == "ff-hidden encoder 1 0"
    assert not np.array_equal(before, views.array(PICTURES, "values0"))


def test_a_click_on_a_block_leads_to_its_first_stage(views: Views) -> None:
    app = start(stage="text", side="Encoder")
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
    app = start(layer="1", side="Encoder")
    press(app, "cross")
    assert title(app) == "Queries of head 0"
    assert views.data(PICTURES)["stage"] == "cross-q decoder 1 0"
    assert "side" not in app.query_params, "the decoder is the default"


def test_an_unknown_stage_becomes_the_first_of_the_layer() -> None:
    first = "The norm before the self-attention"
    assert title(start(stage="nonsense")) == first
    assert title(start(stage="cross-q", side="Encoder")) == first


def test_the_words_say_what_the_next_step_reads() -> None:
    generated = start(stage="round", row="0: <bos>")
    assert "is put after what the decoder has read" in texts(generated)
    forced = start(stage="round", target="la mia gatta", row="0: <bos>")
    assert "Teacher forcing: row 1 reads the given `la`" in texts(forced)


def test_a_long_sentence_is_not_drawn(views: Views) -> None:
    app = start(text="the cat " * 30)
    assert "at most 40 tokens" in app.info[0].value
    assert PICTURES not in views.frames
