"""Every plot of the public face draws the numbers of the run, and says where it is not for a model."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

import headlight
from tests.support.kinds import KINDS
from tests.support.models import measured, tiny_model, tiny_subword_model
from transformer.errors import CheckpointError
from transformer.model.positions import sinusoidal_encoding

ROOT = Path(__file__).resolve().parents[2]
TEXT = "the cat saw a dog"
PLOTS = [name for name in sorted(headlight._HOME_OF) if name.startswith("plot_")]


@cache
def run_of(kind: str) -> headlight.Run:
    return headlight.run(KINDS[kind](), TEXT)


def stack_of(run: headlight.Run) -> Any:
    return "decoder" if run.trace.tgt_tokens else "encoder"


CALLS: dict[str, Callable[[headlight.Run], go.Figure]] = {
    "plot_attention": lambda run: headlight.plot_attention(run, run.attentions[-1], 1, 2, theme="dark"),
    "plot_layer": lambda run: headlight.plot_layer(run, run.attentions[-1], 1, measure="masked"),
    "plot_all_heads": lambda run: headlight.plot_all_heads(run, run.attentions[0], measure="scores"),
    "plot_dot_product": lambda run: headlight.plot_dot_product(run, run.attentions[0], 1, 2, 3, 1),
    "plot_changes": lambda run: headlight.plot_changes(run, run),
    "plot_tensors": lambda run: headlight.plot_tensors(
        {"one": run, "other": run}, f"{stack_of(run)}.layers.1.resid_post"
    ),
    "plot_confidence": headlight.plot_confidence,
    "plot_reliability": lambda run: headlight.plot_reliability(run.model),
    "plot_batch": lambda run: headlight.plot_batch(run, stack_of(run)),
    "plot_mask": lambda run: headlight.plot_mask(run, run.attentions[0], "causal"),
    "plot_softmax": lambda run: headlight.plot_softmax(run, run.attentions[0], 1, 2, 3),
    "plot_norm": lambda run: headlight.plot_norm(run, list(run.norms)[-1]),
    "plot_norm_values": lambda run: headlight.plot_norm_values(run, next(iter(run.norms)), token=1),
    "plot_norm_parameters": lambda run: headlight.plot_norm_parameters(run, next(iter(run.norms))),
    "plot_residual": lambda run: headlight.plot_residual(run, stack_of(run), each_token=True),
    "plot_encoding": lambda _: headlight.plot_encoding(length=9, d_model=14),
    "plot_encoding_curves": lambda _: headlight.plot_encoding_curves((0, 5), length=9, d_model=14),
    "plot_position_similarity": lambda _: headlight.plot_position_similarity(length=9, d_model=14),
    "plot_similarity_by_offset": lambda _: headlight.plot_similarity_by_offset(length=9, d_model=14),
    "plot_wavelengths": lambda _: headlight.plot_wavelengths(length=9, d_model=14),
    "plot_embedding_sizes": lambda run: headlight.plot_embedding_sizes(run, stack_of(run)),
    "plot_position_bias": lambda run: headlight.plot_position_bias(run, stack_of(run)),
    "plot_rotary_angles": headlight.plot_rotary_angles,
    "plot_rotary_wavelengths": headlight.plot_rotary_wavelengths,
    "plot_rotary_products": lambda run: headlight.plot_rotary_products(run, 0, 2, 3),
    "plot_steps": headlight.plot_steps,
    "plot_next_tokens": lambda run: headlight.plot_next_tokens(run, 0),
    "plot_targets": lambda run: headlight.plot_targets(run, run),
    "plot_training": lambda _: headlight.plot_training("toy-en-it"),
}
NEEDS = {
    "plot_embedding_sizes": ("sinusoidal", "learned"),
    "plot_position_bias": ("relative",),
    "plot_rotary_angles": ("rotary",),
    "plot_rotary_wavelengths": ("rotary",),
    "plot_rotary_products": ("rotary",),
}
OF_STEPS = ("plot_steps", "plot_next_tokens", "plot_targets")
MEASURED = ("plot_confidence", "plot_reliability")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PLOTS)
def test_every_plot_is_drawn_for_every_kind_of_model_that_it_is_for(name: str, kind: str) -> None:
    run = run_of(kind)
    config = run.model.model.config
    if config.positions not in NEEDS.get(name, (config.positions,)):
        with pytest.raises(ValueError, match=f"those of {kind} are {config.positions}"):
            CALLS[name](run)
    elif name in OF_STEPS and not config.has_generator:
        with pytest.raises(ValueError, match="no generator"):
            CALLS[name](run)
    elif name == "plot_targets" and config.kind == "encoder-only":
        with pytest.raises(ValueError, match="no decoder"):
            CALLS[name](run)
    elif name in MEASURED:
        with pytest.raises(ValueError, match=r"was not measured"):
            CALLS[name](run)
    else:
        assert len(headlight.number_table(CALLS[name](run)))


@pytest.mark.parametrize("name", MEASURED)
def test_how_sure_a_model_may_be_is_drawn_where_it_was_measured(name: str) -> None:
    run = headlight.run(measured(tiny_subword_model(1)), TEXT)
    assert len(headlight.number_table(CALLS[name](run)))


def takes_a_figure(function: ast.FunctionDef) -> bool:
    """Whether a function changes a figure that another one has drawn."""
    return any(arg.annotation and ast.unparse(arg.annotation) == "go.Figure" for arg in function.args.args)


def test_every_figure_has_a_plot() -> None:
    drawn = {
        node.name
        for path in (ROOT / "viz" / "figures").glob("[a-z]*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and node.returns is not None
        and ast.unparse(node.returns) == "go.Figure"
        and not takes_a_figure(node)
    }
    used = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        # Those of the lessons are drawn by `headlight.lesson(...).show(...)`.
        for folder in ("headlight/plots", "viz/pages/learn/lessons")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    assert drawn
    assert drawn <= used
    assert set(PLOTS) == set(CALLS)


def heatmap(figure: go.Figure) -> np.ndarray:
    return np.asarray(next(trace for trace in figure.data if trace.type == "heatmap").z, np.float32)


@pytest.mark.parametrize("attention", ["encoder", "decoder", "cross"])
def test_one_head_is_the_table(attention: Any) -> None:
    run = headlight.run(tiny_model(), TEXT)
    weights = run.attention(attention, 1, 2).to_numpy()
    figure = headlight.plot_attention(run, attention, 1, 2)
    drawn = heatmap(figure)
    np.testing.assert_array_equal(drawn[~np.isnan(drawn)], weights[~np.isnan(drawn)])
    np.testing.assert_array_equal(weights[np.isnan(drawn)], 0)
    assert np.isnan(drawn).any() == (attention == "decoder")
    assert figure.layout.title.text.endswith("layer 1, head 2")


@pytest.mark.parametrize("kind", ["rotary", "relative", "masked", "factors"])
def test_the_terms_of_a_score_add_up_to_it(kind: str) -> None:
    run = run_of(kind)
    attention, head = run.attentions[0], 2
    figure = CALLS["plot_dot_product"](run)
    stack = "encoder" if attention == "encoder" else "decoder"
    path = f"{stack}.layers.1.self_attn"
    bias = run.trace.get(f"{path}.position_bias")
    score = float(run.trace[f"{path}.scores"][0, head, 3, 1])
    added = 0.0 if bias is None else float(bias[0, head, 3, 1])
    assert figure.data[1].y[-1] == pytest.approx(score - added, abs=1e-5)


def test_a_layer_has_its_own_wavelengths_or_none() -> None:
    """The stretch is for the layers of the configuration's own base."""
    run = run_of("capped")
    for layer, base, stretch in ((0, 9.0, 1), (2, 500.0, 4)):
        drawn = headlight.plot_rotary_wavelengths(run, layer).data[0].y
        np.testing.assert_allclose(drawn, stretch * 2 * np.pi * base ** (np.arange(7) / 7), rtol=1e-5)
    for plot in (headlight.plot_rotary_angles, headlight.plot_rotary_wavelengths):
        with pytest.raises(ValueError, match="Layer 1 of capped turns nothing: choose another layer"):
            plot(run, 1)
        with pytest.raises(ValueError, match="layer 3"):
            plot(run, 3)
    angles = headlight.plot_rotary_angles(run_of("parallel"))
    assert np.asarray(angles.data[0].z).shape[1] == 2, "two pairs of a head are turned"


def test_a_norm_is_drawn_as_it_was_computed() -> None:
    run = headlight.run(tiny_model(), TEXT)
    path = "decoder.layers.2.cross_attn_norm"
    record = run.trace.norm(path)
    before, normalized, after, *_ = headlight.plot_norm(run, path).data
    np.testing.assert_allclose(before.y, record.input[0].mean(-1), atol=1e-6)
    np.testing.assert_allclose(normalized.y, 0, atol=1e-6)
    np.testing.assert_allclose(after.y, record.result[0].mean(-1), atol=1e-6)
    assert run.norms[path] == run.trace.tgt_tokens[0]
    with pytest.raises(ValueError, match="no norm 'norm': choose one of encoder"):
        headlight.plot_norm(run, "norm")


def test_the_encoding_is_the_models_own() -> None:
    drawn = heatmap(headlight.plot_encoding(length=9, d_model=14, base=100))
    np.testing.assert_array_equal(drawn, sinusoidal_encoding(9, 14, 100))


def test_padding_of_a_batch_is_drawn() -> None:
    batch = headlight.run_batch(tiny_model(), ["the cat saw a dog", "i see"])
    table = headlight.number_table(headlight.plot_mask(batch, "encoder", sentence=1))
    n_open = int(batch.trace.attention("encoder", 0, "self_attn").mask[1, 0].sum())
    assert len(table) == n_open < 6 * 6
    assert "&lt;pad&gt;" in str(headlight.plot_batch(batch, "encoder").to_dict())


def test_a_number_that_names_nothing_is_refused() -> None:
    run = headlight.run(tiny_model(), TEXT)
    refused: list[tuple[Callable[[], go.Figure], str]] = [
        (lambda: headlight.plot_dot_product(run, "cross", 0, 0, 0, 99), "There is no key 99"),
        (lambda: headlight.plot_softmax(run, "cross", 0, 0, 99), "There is no query 99"),
        (lambda: headlight.plot_next_tokens(run, 99), "There is no step 99"),
        (lambda: headlight.plot_layer(run, "cross", 9), "There is no layer 9"),
        (lambda: headlight.plot_encoding_curves((128,)), "There is no dimension 128"),
    ]
    for call, message in refused:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(ValueError, match="has no stack 'decoder': it has 'encoder'"):
        headlight.plot_residual(run_of("masked"), "decoder")
    with pytest.raises(CheckpointError):
        headlight.plot_training("en-it")
