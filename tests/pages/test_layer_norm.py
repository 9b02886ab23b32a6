"""Layer norm: every norm of the run, the residual stream, and pre- against post-norm."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from tests.pages.app import open_app, texts
from tests.pages.figures import array, trace
from tests.support.models import tiny_model
from transformer.analysis.residual import stream_lengths
from transformer.checkpoints.opening import open_model
from transformer.run import run_sentence
from viz.figures.numbers import span

TEXT = "yesterday i saw a raccoon."


def test_one_norm_is_the_run_s_own() -> None:
    app = open_app("layer_norm", text=TEXT)
    records = run_sentence(open_model("toy-en-it"), TEXT).trace.norms()
    assert len(app.selectbox(key="norm").options) == len(records)
    said = texts(app)
    symbols = {
        stage: trace(app, "norm_statistics", stage)["marker"]["symbol"]
        for stage in ("normalized: (x − μ) / σ", "after: times γ plus β")
    }
    assert list(symbols.values()) == ["diamond-open", "square"]
    assert "the diamonds: whatever came in, the normalized numbers of every token have mean 0.00 and" in said
    after = records[0].result[0].numpy()
    assert f"a mean of {span(after.mean(axis=1))} and a deviation of {span(after.std(axis=1))}" in said
    app.selectbox(key="norm_token").set_value(3)
    app.slider(key="norm_dimension").set_value(17).run()
    assert "the token at position 3" in texts(app)
    formula = app.latex[0].value
    assert r"\text{token } 3, d = 17" in formula
    gamma, x, mean, scale, beta, result = (
        float(number.replace("−", "-")) for number in re.findall(r"−?\d+\.\d{4}", formula.split("d = 17")[1])
    )
    assert gamma * (x - mean) / scale + beta == pytest.approx(result, abs=5e-4)
    assert result == pytest.approx(float(records[0].result[0, 3, 17]), abs=1e-4)
    for record in (records[-1], next(r for r in records if r.path == "decoder.layers.1.cross_attn_norm")):
        app.selectbox(key="norm").set_value(record.path).run()
        assert not app.exception
        assert f"recorded as `{record.path}`" in texts(app)
        assert record.mean is not None
        before = array(trace(app, "norm_statistics", "before")["y"])
        np.testing.assert_allclose(before, record.mean[0, :, 0].numpy(), atol=1e-5)
        normalized = array(trace(app, "norm_statistics", "normalized: (x − μ) / σ")["y"])
        np.testing.assert_allclose(normalized, 0, atol=1e-5)


def test_untrained_gains_are_not_called_learned() -> None:
    app = open_app("layer_norm", model="random")
    assert "γ is 1 and β is 0 in every dimension, as at initialisation: not trained yet." in texts(app)
    assert "The learned" not in texts(app)


def test_the_stream_has_a_line_for_each_token_when_asked() -> None:
    app = open_app("layer_norm", text=TEXT, section="Residual stream")
    with pytest.raises(KeyError):
        trace(app, "residual_encoder", "encoder: each token")
    app.toggle(key="norm_tokens").set_value(True).run()
    assert not app.exception
    lines = trace(app, "residual_encoder", "encoder: each token")
    points, lengths = stream_lengths(run_sentence(open_model("toy-en-it"), TEXT).trace, "encoder")
    np.testing.assert_allclose(array(lines["y"])[: len(points)], lengths[:, 0], rtol=1e-5)
    assert lines["text"][0] == "0 yesterday"


def test_another_seed_gives_another_model() -> None:
    app = open_app("layer_norm", text=TEXT, section="Before training")
    first = array(trace(app, "pre_post_encoder", "pre-norm: mean over tokens")["y"])
    app.number_input(key="norm_seed").set_value(7).run()
    assert not np.allclose(first, array(trace(app, "pre_post_encoder", "pre-norm: mean over tokens")["y"]))


def test_stream_has_every_point_once_and_in_order() -> None:
    run = run_sentence(tiny_model(), "the cat saw a dog.")
    points, lengths = stream_lengths(run.trace, "decoder")
    assert points[:4] == [
        "input",
        "layer 0 self-attention",
        "layer 0 cross-attention",
        "layer 0 feed-forward",
    ]
    assert len(points) == len(set(points)) == 1 + 3 * 3
    assert lengths.shape == (len(points), len(run.target_ids))
    expected = run.trace["decoder.layers.2.resid_post"][0].norm(dim=-1).numpy()
    np.testing.assert_allclose(lengths[-1], expected, rtol=1e-6)


def test_untrained_post_norm_keeps_its_length_and_pre_norm_grows() -> None:
    app = open_app("layer_norm", model="random", enc="6", dec="6", section="Before training")
    assert not app.exception
    post = array(trace(app, "pre_post_decoder", "post-norm: mean over tokens")["y"])
    pre = array(trace(app, "pre_post_decoder", "pre-norm: mean over tokens")["y"])
    assert post[0] == pytest.approx(pre[0], rel=1e-5)
    np.testing.assert_allclose(post[1:], math.sqrt(128), rtol=1e-3)
    assert pre[-1] > 1.5 * pre[0]
    assert (np.diff(pre[::3]) > 0).all()
