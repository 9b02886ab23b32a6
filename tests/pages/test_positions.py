"""Positions: the sliders make the encoding, and the sizes are the loaded model's."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from tests.pages.app import open_app, texts
from tests.pages.figures import array, figure, trace
from transformer.checkpoints.opening import open_model
from transformer.run import run_sentence


def test_first_visit_explains_with_numbers_and_names_what_computed_them() -> None:
    app = open_app("positions")
    assert not app.exception
    shown = texts(app).replace("−", "-")
    angle = 7 / 10_000 ** (6 / 128)
    assert rf"\sin({angle:.4f}) = {math.sin(angle):.4f}" in shown
    assert rf"\cos({angle:.4f}) = {math.cos(angle):.4f}" in shown
    assert "transformer/model/positions.py:" in shown
    assert "sinusoidal_encoding" in shown


@pytest.mark.parametrize("length, width, base", [(2, 8, 10), (256, 512, 1_000_000)])
def test_sliders_make_the_encoding(length: int, width: int, base: int) -> None:
    app = open_app("positions")
    app.slider(key="pe_length").set_value(length)
    app.select_slider(key="pe_width").set_value(width)
    app.select_slider(key="pe_base").set_value(base).run()
    assert not app.exception
    values = array(figure(app, "pe_map")["data"][0]["z"])
    assert values.shape == (length, width)
    assert values[1, 2] == pytest.approx(math.sin(1 / base ** (2 / width)), abs=1e-6)
    assert values[1, 3] == pytest.approx(math.cos(1 / base ** (2 / width)), abs=1e-6)
    assert array(figure(app, "pe_similarity-map")["data"][0]["z"]).shape == (length, length)


def test_shrinking_the_encoding_lets_go_of_what_no_longer_exists() -> None:
    app = open_app("positions")
    app.slider(key="pe_position").set_value(49)
    app.slider(key="pe_pair").set_value(63)
    app.multiselect(key="pe_dimensions").set_value([127]).run()
    assert not app.exception
    app.slider(key="pe_length").set_value(3)
    app.select_slider(key="pe_width").set_value(8).run()
    assert not app.exception
    assert app.slider(key="pe_position").value in range(3)
    assert app.slider(key="pe_pair").value in range(4)
    assert max(app.multiselect(key="pe_dimensions").value) < 8


def test_no_dimension_chosen_is_answered_with_a_sentence() -> None:
    app = open_app("positions")
    app.multiselect(key="pe_dimensions").set_value([]).run()
    assert not app.exception
    assert [info.value for info in app.info] == ["Choose at least one dimension."]


@pytest.mark.parametrize(
    "side, label", [("src_embedding", "Encoder input"), ("tgt_embedding", "Decoder input")]
)
def test_sizes_are_those_of_the_loaded_model(side: str, label: str) -> None:
    app = open_app("positions", text="yesterday i saw a raccoon.", pe_side=label)
    assert not app.exception
    run = run_sentence(open_model("toy-en-it"), "yesterday i saw a raccoon.")
    drawn = array(trace(app, "pe_sizes", "embedding · √d_model")["y"])
    np.testing.assert_allclose(drawn, run.trace[f"{side}.tokens"][0].norm(dim=-1).numpy(), rtol=1e-5)
    drawn = array(trace(app, "pe_sizes", "position encoding")["y"])
    np.testing.assert_allclose(drawn, run.trace[f"{side}.positions"][0].norm(dim=-1).numpy(), rtol=1e-5)
    assert f"recorded as `{side}.tokens, {side}.positions`" in texts(app)
    said = re.search(
        r"([\d.]+) times as long as the encodings.*they would be ([\d.]+) times as long", texts(app)
    )
    assert said is not None
    sizes = [run.trace[f"{side}.{part}"][0].norm(dim=-1).mean() for part in ("tokens", "positions")]
    ratio = float(sizes[0] / sizes[1])
    assert float(said[1]) == pytest.approx(ratio, abs=0.006)
    assert float(said[2]) == pytest.approx(ratio / math.sqrt(128), abs=0.006)


def test_the_address_restores_the_sliders() -> None:
    app = open_app("positions", pe_length="30", pe_position="29", pe_pair="11")
    assert not app.exception
    assert app.slider(key="pe_length").value == 30
    assert app.slider(key="pe_position").value == 29
    assert "PE(29, 22)" in texts(app)
