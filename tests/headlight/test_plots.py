"""Every plot of the public API draws the numbers of the run, or says why it does not apply to the model."""

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
from transformer.model.trace import Stack

ROOT = Path(__file__).resolve().parents[2]
TEXT = "the cat saw a dog"


@cache
def run_of(kind: str) -> headlight.Run:
    model = measured(tiny_subword_model(1)) if kind == "measured" else KINDS[kind]()
    return headlight.run(model, TEXT)


Plot = Callable[[headlight.Run], go.Figure]
CALLS: dict[str, tuple[str, Plot]] = {
    "plot_attention": ("relative", lambda run: headlight.plot_attention(run, "cross", 1, 2, theme="dark")),
    "plot_layer": ("rotary", lambda run: headlight.plot_layer(run, "decoder", 1, measure="masked")),
    "plot_all_heads": ("masked", lambda run: headlight.plot_all_heads(run, "encoder", measure="scores")),
    "plot_dot_product": ("rotary", lambda run: headlight.plot_dot_product(run, "decoder", 1, 2, 3, 1)),
    "plot_changes": ("stacks", lambda run: headlight.plot_changes(run, run)),
    "plot_tensors": (
        "parallel",
        lambda run: headlight.plot_tensors({"one": run, "other": run}, "decoder.layers.1.resid_post"),
    ),
    "plot_confidence": ("measured", headlight.plot_confidence),
    "plot_reliability": ("measured", lambda run: headlight.plot_reliability(run.model)),
    "plot_batch": ("prompted", lambda run: headlight.plot_batch(run, "decoder")),
    "plot_mask": ("languages", lambda run: headlight.plot_mask(run, "decoder", "causal")),
    "plot_softmax": ("shifted", lambda run: headlight.plot_softmax(run, "encoder", 1, 2, 3)),
    "plot_norm": ("capped", lambda run: headlight.plot_norm(run, "decoder.layers.0.self_attn.q_norm")),
    "plot_norm_values": (
        "rotary",
        lambda run: headlight.plot_norm_values(run, "decoder.final_norm", token=1),
    ),
    "plot_norm_parameters": (
        "reader",
        lambda run: headlight.plot_norm_parameters(run, "encoder.layers.1.self_attn_norm"),
    ),
    "plot_residual": ("shared", lambda run: headlight.plot_residual(run, "encoder", each_token=True)),
    "plot_encoding": ("shared", lambda _: headlight.plot_encoding(length=9, d_model=14)),
    "plot_encoding_curves": (
        "shared",
        lambda _: headlight.plot_encoding_curves((0, 5), length=9, d_model=14),
    ),
    "plot_position_similarity": (
        "shared",
        lambda _: headlight.plot_position_similarity(length=9, d_model=14),
    ),
    "plot_similarity_by_offset": (
        "shared",
        lambda _: headlight.plot_similarity_by_offset(length=9, d_model=14),
    ),
    "plot_wavelengths": ("shared", lambda _: headlight.plot_wavelengths(length=9, d_model=14)),
    "plot_embedding_sizes": ("languages", lambda run: headlight.plot_embedding_sizes(run, "decoder")),
    "plot_position_bias": ("relative", lambda run: headlight.plot_position_bias(run, "decoder")),
    "plot_rotary_angles": ("factors", headlight.plot_rotary_angles),
    "plot_rotary_wavelengths": ("rotary", headlight.plot_rotary_wavelengths),
    "plot_rotary_products": ("capped", lambda run: headlight.plot_rotary_products(run, 0, 2, 3)),
    "plot_steps": ("masked", headlight.plot_steps),
    "plot_next_tokens": ("factors", lambda run: headlight.plot_next_tokens(run, 0)),
    "plot_targets": ("relative", lambda run: headlight.plot_targets(run, run)),
    "plot_effects": ("shifted", lambda run: headlight.plot_effects(headlight.why(run, parts="words"))),
    "plot_heads_kept": ("rotary", lambda run: headlight.plot_heads_kept(run, 0)),
    "plot_logit_sum": ("masked", lambda run: headlight.plot_logit_sum(run, 1, by="word")),
    "plot_score_sum": ("relative", lambda run: headlight.plot_score_sum(run, "cross", 2, 1, 0, 3)),
    "plot_patches": (
        "measured",
        lambda run: headlight.plot_patches(
            run, "the dog saw a dog", 0, place="decoder cross_attn z 1", direction="denoising"
        ),
    ),
    "plot_pictures": ("rotary", lambda run: headlight.plot_pictures(run, 0, how="mean")),
    "plot_source_share": ("languages", headlight.plot_source_share),
    "plot_roles": (
        "prompted",
        lambda run: headlight.plot_roles(
            headlight.analyze(run.model, [(TEXT, "")] * 5), "previous", "position"
        ),
    ),
    "plot_training": ("shared", lambda _: headlight.plot_training("toy-en-it")),
}
"""Each plot, with a kind of model that has its numbers in an unusual place if there is one."""


@pytest.mark.parametrize("name", CALLS)
def test_every_plot_is_drawn(name: str) -> None:
    kind, call = CALLS[name]
    assert len(headlight.number_table(call(run_of(kind))))


REFUSED = (
    ("plot_embedding_sizes", "relative", "those of relative are relative"),
    ("plot_position_bias", "languages", "those of languages are learned"),
    ("plot_rotary_angles", "stacks", "those of stacks are none"),
    ("plot_rotary_wavelengths", "shifted", "those of shifted are sinusoidal"),
    ("plot_rotary_products", "masked", "those of masked are learned"),
    ("plot_steps", "reader", "no generator"),
    ("plot_next_tokens", "stacks", "no generator"),
    ("plot_targets", "stacks", "no generator"),
    ("plot_targets", "masked", "no decoder"),
    ("plot_source_share", "masked", "no decoder"),
    ("plot_source_share", "stacks", "no generator"),
    ("plot_confidence", "prompted", "was not measured"),
    ("plot_reliability", "prompted", "was not measured"),
)


@pytest.mark.parametrize("name, kind, message", REFUSED)
def test_a_plot_that_a_model_has_no_numbers_for_is_refused(name: str, kind: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CALLS[name][1](run_of(kind))


def takes_a_figure(function: ast.FunctionDef) -> bool:
    """True if a function changes a figure drawn by another function."""
    return any(arg.annotation and ast.unparse(arg.annotation) == "go.Figure" for arg in function.args.args)


def drawing_functions(folder: str) -> set[str]:
    """The public functions in a folder that return a figure."""
    return {
        node.name
        for path in (ROOT / folder).glob("[a-z]*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and node.returns is not None
        and ast.unparse(node.returns) == "go.Figure"
        and not takes_a_figure(node)
    }


def names_used(*folders: str) -> set[str]:
    return {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute | ast.Name)
    }


@pytest.mark.parametrize("kind, stack", [("alibi", "decoder"), ("own_biases", "encoder")])
def test_a_layer_s_biases_are_those_that_were_added(kind: str, stack: Stack) -> None:
    run = run_of(kind)
    figure = headlight.plot_position_bias(run, stack, 1)
    added = run.trace[f"{stack}.layers.1.self_attn.position_bias"][0, 2, 3]
    for key in range(3):
        at = list(figure.data[2].x).index(key - 3)
        assert figure.data[2].y[at] == pytest.approx(float(added[key]), abs=1e-6)


def test_every_figure_has_a_plot() -> None:
    """The lessons' figures are drawn by `headlight.lesson(...).show(...)`."""
    figures = drawing_functions("viz/figures")
    assert figures
    assert figures <= names_used("headlight/plots", "viz/run_figures", "viz/pages/learn/lessons")
    assert drawing_functions("viz/run_figures") <= names_used("headlight/plots")
    assert set(CALLS) == {name for name in headlight._HOME_OF if name.startswith("plot_")}


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
    figure = headlight.plot_dot_product(run, attention, 1, head, 3, 1)
    stack = "encoder" if attention == "encoder" else "decoder"
    path = f"{stack}.layers.1.self_attn"
    bias = run.trace.get(f"{path}.position_bias")
    score = float(run.trace[f"{path}.scores"][0, head, 3, 1])
    added = 0.0 if bias is None else float(bias[0, head, 3, 1])
    assert figure.data[1].y[-1] == pytest.approx(score - added, abs=1e-5)


def test_a_layer_has_its_own_wavelengths_or_none() -> None:
    """Only layers with the configuration's own base are stretched."""
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
