"""Positions: the sliders define the encoding, and the sizes are the loaded model's."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from tests.pages.app import open_app, texts
from tests.pages.figures import array, figure, trace
from tests.pages.offered import offer
from tests.support.models import tiny_model
from transformer.checkpoints.opening import open_model
from transformer.run import run_sentence


def test_first_visit_explains_with_numbers_and_names_what_computed_them() -> None:
    app = open_app("positions")
    assert not app.exception
    shown = texts(app).replace("−", "-")
    angle = 7 / 10_000 ** (6 / 128)
    assert rf"\sin({angle:.4f}) = {math.sin(angle):.4f}" in shown
    assert rf"\cos({angle:.4f}) = {math.cos(angle):.4f}" in shown
    app.multiselect(key="pe_dimensions").set_value([]).run()
    assert not app.exception
    assert [info.value for info in app.info] == ["Choose at least one dimension."]


def test_sliders_make_the_encoding_and_let_go_of_what_no_longer_exists() -> None:
    app = open_app("positions", pe_length="256", pe_width="512", pe_position="249", pe_pair="163")
    app.multiselect(key="pe_dimensions").set_value([327]).run()
    assert "PE(249, 326)" in texts(app)
    for length, width, base in ((256, 512, 1_000_000), (2, 8, 10)):
        app.slider(key="pe_length").set_value(length)
        app.select_slider(key="pe_width").set_value(width)
        app.select_slider(key="pe_base").set_value(base).run()
        assert not app.exception
        app.button_group(key="section").set_value("Map").run()
        values = array(figure(app, "pe_map")["data"][0]["z"])
        assert values.shape == (length, width)
        assert values[1, 2] == pytest.approx(math.sin(1 / base ** (2 / width)), abs=1e-6)
        assert values[1, 3] == pytest.approx(math.cos(1 / base ** (2 / width)), abs=1e-6)
        app.button_group(key="section").set_value("Similarity").run()
        assert array(figure(app, "pe_similarity-map")["data"][0]["z"]).shape == (length, length)
        app.button_group(key="section").set_value("Encoding").run()
    assert app.slider(key="pe_position").value in range(2)
    assert app.slider(key="pe_pair").value in range(4)
    assert max(app.multiselect(key="pe_dimensions").value) < 8


def test_sizes_are_those_of_the_loaded_model() -> None:
    app = open_app(
        "positions", text="yesterday i saw a raccoon.", section="In the sentence", pe_side="Decoder input"
    )
    run = run_sentence(open_model("toy-en-it"), "yesterday i saw a raccoon.")
    assert app.button_group(key="pe_side").value == "tgt_embedding"
    for path in ("tgt_embedding", "src_embedding"):
        app.button_group(key="pe_side").set_value(path).run()
        assert not app.exception
        drawn = array(trace(app, "pe_sizes", "embedding · √d_model")["y"])
        np.testing.assert_allclose(drawn, run.trace[f"{path}.tokens"][0].norm(dim=-1).numpy(), rtol=1e-5)
        drawn = array(trace(app, "pe_sizes", "position encoding")["y"])
        np.testing.assert_allclose(drawn, run.trace[f"{path}.positions"][0].norm(dim=-1).numpy(), rtol=1e-5)
        assert f"recorded as `{path}.tokens, {path}.positions`" in texts(app)
        said = re.search(
            r"([\d.]+) times as long as the encodings.*they would be ([\d.]+) times as long", texts(app)
        )
        assert said is not None
        sizes = [run.trace[f"{path}.{part}"][0].norm(dim=-1).mean() for part in ("tokens", "positions")]
        ratio = float(sizes[0] / sizes[1])
        assert float(said[1]) == pytest.approx(ratio, abs=0.006)
        assert float(said[2]) == pytest.approx(ratio / math.sqrt(128), abs=0.006)


@pytest.mark.parametrize("target", ["", "il cane"])
def test_an_encoder_decoders_rotation_is_shown_with_the_encoders_tokens(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the target is longer or shorter than the source."""
    loaded = tiny_model(positions="rotary", position_bases=(30.0, 7.0, 0.0, 7.0, 9.0))
    offer(monkeypatch.setattr, {"turning": lambda: loaded})
    app = open_app("positions", model="turning", text="the dog saw a cat", target=target)
    assert not app.exception
    run = run_sentence(loaded, "the dog saw a cat", target)
    assert len(run.trace.src_tokens[0]) != len(run.trace.tgt_tokens[0])
    assert len(app.selectbox(key="query").options) == len(run.trace.src_tokens[0])
    assert "different bases: 30 in layer 0; 7 in layer 1." in texts(app)
