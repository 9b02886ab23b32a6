"""Explore's viewer has the numbers of the run, and so do the figures saved from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.pages.app import HOSTILE, open_app
from tests.pages.explore.page import TEXT, explored, weights_of
from tests.pages.views import Views
from transformer.analysis.attention_maps import ATTENTION_LABELS, FUTURE, attention_record
from transformer.checkpoints.opening import open_model
from transformer.checkpoints.random_model import random_model
from transformer.run import encode_sentence, run_again
from viz.figures.labels import visible
from viz.pages.explore.attention import BEFORE
from viz.pages.explore.viewed_run import RANDOM_SEED, TWIN
from viz.viewer.choice import MEASURES, VIEWS
from viz.viewer.frames import MAX_SHORT

LONG = "the cat " * 40


def test_every_weight_of_every_head_is_the_run_s(views: Views) -> None:
    open_app(text=TEXT)
    run = explored()
    for attention in ATTENTION_LABELS:
        values = views.array("viewer", f"weights:{attention}/values")
        np.testing.assert_allclose(values, weights_of(run, attention), atol=1e-6)
    sides = views.data("viewer")["sides"]
    assert sides["encoder"]["tokens"] == list(run.trace.src_tokens[0])
    assert sides["decoder"]["tokens"] == list(run.trace.tgt_tokens[0])
    assert sides["decoder"]["written"] == [*run.trace.tgt_tokens[0][1:], "<eos>"]


def test_another_sentence_is_another_run(views: Views) -> None:
    app = open_app(text=TEXT)
    before = views.data("viewer")["run"]
    app.text_input(key="text").set_value("i like the cats.").run()
    assert views.data("viewer")["run"] != before
    values = views.array("viewer", "weights:cross/values")
    np.testing.assert_allclose(values, weights_of(explored("i like the cats."), "cross"), atol=1e-6)


def test_closed_cells_have_their_reasons(views: Views) -> None:
    open_app(text=TEXT)
    found = {attn["name"]: attn for attn in views.data("viewer")["attentions"]}
    assert found["decoder"]["reasons"][0] == f"masked: {FUTURE}"
    assert {name: one["causal"] for name, one in found.items()} == {
        "encoder": False,
        "decoder": True,
        "cross": False,
    }


def test_what_is_asked_for_comes_and_is_the_run_s(views: Views) -> None:
    app = open_app(text=TEXT)
    for attention in ATTENTION_LABELS:
        vectors = f"vectors:{attention}:1:3"
        asked = [f"scores:{attention}", vectors, f"lengths:{attention}"]
        views.fetch(app, "viewer", [*asked, "nonsense"])
        assert views.pieces("viewer") == asked
        record = attention_record(explored().trace, attention, 1)
        scores = views.array("viewer", f"scores:{attention}/values")
        np.testing.assert_allclose(scores[1], record.scores[0].numpy(), atol=1e-5)
        for name in ("q", "k", "v", "z"):
            vector = getattr(record, name)[0, 3].numpy()
            np.testing.assert_allclose(views.array("viewer", f"{vectors}/{name}"), vector, atol=1e-5)
    app.run()
    assert views.pieces("viewer") == [], "once"


def test_of_a_long_sentence_the_grid_and_the_chosen_head_come_first(views: Views) -> None:
    app = open_app(text=LONG, target="il gatto", layer="0", head="2")
    assert not views.data("viewer")["whole"]
    assert views.pieces("viewer") == ["pooled:cross", "head:cross:0:2"]
    assert "weights:cross/values" not in views.held["viewer"]
    expected = weights_of(explored(LONG, "il gatto"), "cross")
    assert expected.shape[-1] > MAX_SHORT
    np.testing.assert_allclose(
        views.array("viewer", "head:cross:0:2/weights"), expected[0, 2], atol=1e-6, rtol=1e-4
    )
    np.testing.assert_allclose(
        views.array("viewer", "pooled:cross/high"), expected.max(axis=(2, 3)), atol=1e-6, rtol=1e-4
    )
    views.choose(app, "viewer", layer=1)
    assert views.pieces("viewer") == [], "it is the browser that asks for what it lacks"
    views.fetch(app, "viewer", ["head:cross:1:2", "row:cross:1"])
    np.testing.assert_allclose(
        views.array("viewer", "head:cross:1:2/weights"), expected[1, 2], atol=1e-6, rtol=1e-4
    )
    np.testing.assert_allclose(
        views.array("viewer", "row:cross:1/values"), expected[:, :, 1], atol=1e-6, rtol=1e-4
    )


def test_a_head_is_compared_with_the_same_model_before_it_learned_anything(views: Views) -> None:
    app = open_app(text=TEXT)
    assert views.data("viewer")["others"] == [TWIN]
    views.choose(app, "viewer", against=TWIN)
    assert views.choice("viewer")["against"] == TWIN
    views.fetch(app, "viewer", [f"other:{TWIN}:cross:1:3"])
    loaded = open_model("toy-en-it")
    twin = random_model(loaded.model.config, RANDOM_SEED, next(loaded.model.parameters()).device)
    expected = run_again(replace(loaded, model=twin), explored())
    record = attention_record(expected.trace, "cross", 1)
    for name in ("weights", "scores"):
        found = views.array("viewer", f"other:{TWIN}:cross:1:3/{name}")
        np.testing.assert_allclose(found, getattr(record, name)[0, 3].numpy(), atol=1e-5)


def test_a_head_is_compared_with_that_of_the_run_before_of_as_many_tokens(views: Views) -> None:
    app = open_app(text="i saw a cat.", target="il gatto")
    first = views.array("viewer", "weights:cross/values")[1, 2]
    app.text_input(key="text").set_value("i saw a dog.").run()
    assert views.data("viewer")["others"] == [TWIN, BEFORE]
    views.fetch(app, "viewer", [f"other:{BEFORE}:cross:1:2"])
    np.testing.assert_array_equal(views.array("viewer", f"other:{BEFORE}:cross:1:2/weights"), first)
    assert not np.array_equal(views.array("viewer", "weights:cross/values")[1, 2], first)
    app.text_input(key="text").set_value("i saw a big dog.").run()
    assert views.data("viewer")["others"] == [TWIN], "of another length there is no cell to compare"


def test_a_run_before_of_a_model_of_other_sizes_is_nothing_to_compare_with(views: Views) -> None:
    app = open_app(model="random", dec="2", heads="8", text="i saw a cat.", target="il gatto")
    app.selectbox(key="heads").set_value(4).run()
    assert views.data("viewer")["others"] == [TWIN]
    app.radio(key="model").set_value("toy-en-it").run()
    assert views.data("viewer")["others"] == [TWIN, BEFORE], "of as many layers and heads"
    before = views.held["viewer"]
    views.fetch(app, "viewer", [f"other:{BEFORE}:cross:1:3", f"other:{BEFORE}:cross:2:0"])
    assert views.pieces("viewer") == [f"other:{BEFORE}:cross:1:3"]
    assert not np.array_equal(
        views.array("viewer", f"other:{BEFORE}:cross:1:3/weights"), before["weights:cross/values"][1, 3]
    )


SAVED = [
    pytest.param(view, measure, marks=() if at == measure_at else pytest.mark.full)
    for at, view in enumerate(VIEWS)
    for measure_at, measure in enumerate(MEASURES)
]


@pytest.mark.parametrize("view, measure", SAVED)
def test_what_is_saved_is_what_is_shown(
    views: Views, view: str, measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[tuple[str, go.Figure]] = []

    def save_menu(make_figure: Any, *, name: str, key: str) -> None:
        saved.append((name, make_figure()))

    monkeypatch.setattr("viz.pages.explore.attention.save_menu", save_menu)
    app = open_app(text=TEXT, view=view, measure=measure, attention="decoder", layer="0", head="2")
    assert not app.exception
    [(name, figure)] = saved
    record = attention_record(explored().trace, "decoder", 0)
    mask = record.mask[0, 0].numpy()
    views.fetch(app, "viewer", ["lengths:decoder"])
    lengths = views.array("viewer", "lengths:decoder/values")[0]  # (H, K)
    expected = {
        "weights": record.weights[0].numpy(),
        "scores": record.scores[0].numpy(),
        "masked": record.scores[0].numpy(),
        "moved": record.weights[0].numpy() * lengths[:, None, :],
    }[measure]
    if measure != "scores":
        expected = np.where(mask, expected, np.nan)
    drawn = np.array(figure.data[0].z, float)
    if view in ("layer", "map"):
        assert name == f"decoder-attention-{measure}-layer0-all-heads"
        for head in expected:
            assert any(
                np.allclose(window, head, atol=1e-5, equal_nan=True)
                for window in np.lib.stride_tricks.sliding_window_view(drawn, head.shape).reshape(
                    -1, *head.shape
                )
            )
    else:
        assert name == f"decoder-attention-{measure}-layer0-head2"
        np.testing.assert_allclose(drawn, expected[2], atol=1e-5)


def test_typed_tokens_reach_the_viewer_as_text(views: Views) -> None:
    names = ("script", "right to left", "zero width", "emoji", "special tokens", "formula")
    text = " ".join(HOSTILE[name] for name in names)
    app = open_app(text=text, target=text)
    assert not app.exception
    loaded = open_model("toy-en-it")
    sides = views.data("viewer")["sides"]
    typed = [encode_sentence(loaded, side, text, "sentence").tokens for side in ("source", "target")]
    assert sides["encoder"]["tokens"] == [*map(visible, typed[0]), "<eos>"]
    assert sides["decoder"]["tokens"] == ["<bos>", *map(visible, typed[1])]
    assert not any(character in str(sides) for character in "\u202e\u200b\u2060")
