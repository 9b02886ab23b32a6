"""What each token adds to an attention block, checked against loops over the paper's equations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from tests.support.perturbed import perturbed
from transformer.analysis.attention_maps import MODULES, Attention, attention_record, attentions, n_layers
from transformer.analysis.attribution import attention_parts
from transformer.analysis.attribution.alti import alti, layer_shares
from transformer.analysis.attribution.attention_parts import UntransposedError, parts_by_block
from transformer.analysis.attribution.rollout import rollout
from transformer.analysis.attribution.value_norms import moved_norms, value_norms
from transformer.analysis.interventions.questions import word_questions
from transformer.loaded import LoadedModel
from transformer.model.trace import Stack
from transformer.run import Run, run_sentence

TEXT = "Yesterday I saw the dog."
MADE: dict[str, Callable[[], LoadedModel]] = {
    **KINDS,
    "paper": tiny_model,
    "none": functools.partial(tiny_model, norm_position="none"),
    "post rms": functools.partial(tiny_model, norm="rms", n_kv_heads=1),
    "both unbiased": functools.partial(tiny_model, norm="layer_unbiased", norm_position="both"),
}


@functools.cache
def ran(kind: str) -> tuple[LoadedModel, Run]:
    loaded = perturbed(MADE[kind](), 0.1)
    return loaded, run_sentence(
        loaded, TEXT, "" if loaded.model.config.kind != "encoder-decoder" else "il cane ho visto"
    )


def places(run: Run) -> list[tuple[Attention, int]]:
    return [(one, layer) for one in attentions(run.trace) for layer in range(n_layers(run.trace, one))]


def slow_parts(
    loaded: LoadedModel, run: Run, attention: Attention, layer: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Stream (Q, D), moved (Q, K, D) and what belongs to no token (Q, D), by the module's own weights.

    Norms are applied as differences: with mean and scale fixed, they are affine.
    """
    model, (stack, name) = loaded.model, MODULES[attention]
    path = f"{stack}.layers.{layer}.{name}"
    module: Any = model.get_submodule(path)
    record = run.trace.attention(stack, layer, name)
    weights, v = record.weights[0], record.v[0]
    n_heads, n_queries = weights.shape[:2]
    x = run.trace[f"{stack}.layers.{layer}.{'resid_mid' if attention == 'cross' else 'resid_pre'}"][0]
    bias = torch.zeros(x.shape[-1]) if module.w_o.bias is None else module.w_o.bias
    z = [weights[h][..., None] * v[h * len(v) // n_heads] for h in range(n_heads)]
    moved = torch.cat(z, dim=-1) @ module.w_o.weight.T
    position, scale = model.config.norm_position, model.config.residual_scale
    if position in ("pre", "none"):
        return x, moved * scale, bias.expand_as(x) * scale
    norm_path = f"{path}_norm" if position == "post" else f"{path}_post_norm"
    norm: Any = model.get_submodule(norm_path)
    kept = run.trace.norm(norm_path)
    beta = getattr(norm, "beta", torch.zeros(()))
    mean = 0.0 if kept.mean is None else 1.0

    def linear(z: Tensor, row: int) -> Tensor:
        return norm.gamma * (z - mean * z.mean(dim=-1, keepdim=True)) / kept.scale[0, row]

    outer = 1.0 if position == "post" else scale
    inner = scale if position == "post" else 1.0
    rest = torch.stack([outer * (linear(inner * bias, i) + beta) for i in range(n_queries)])
    moved = torch.stack([outer * linear(inner * one, i) for i, one in enumerate(moved)])
    stream = torch.stack([linear(one, i) for i, one in enumerate(x)]) if position == "post" else x
    return stream, moved, rest


@pytest.mark.parametrize("kind", MADE)
def test_parts_are_those_of_the_equations_and_add_up_to_the_recorded_output(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, run = ran(kind)
    monkeypatch.setattr(attention_parts, "MOST_NUMBERS", 450)  # blocks of a few queries
    for attention, layer in places(run):
        blocks = list(parts_by_block(loaded.model, run.trace, attention, layer))
        assert len(blocks) > 1
        stream, moved, output = (
            torch.cat([getattr(block, name) for block in blocks]) for name in ("stream", "moved", "output")
        )
        own_stream, own_moved, rest = slow_parts(loaded, run, attention, layer)
        torch.testing.assert_close(stream, own_stream, atol=2e-5, rtol=1e-5)
        torch.testing.assert_close(moved, own_moved, atol=2e-5, rtol=1e-5)
        torch.testing.assert_close(stream + moved.sum(dim=1) + rest, output, atol=5e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["paper", "rotary", "capped"])
def test_norms_are_those_of_the_parts(kind: str) -> None:
    loaded, run = ran(kind)
    for attention, layer in places(run):
        _, moved, _ = slow_parts(loaded, run, attention, layer)
        norms = moved_norms(loaded, run, attention, layer)
        np.testing.assert_allclose(norms, moved.norm(dim=-1).detach(), atol=1e-5, rtol=1e-5)


def slow_alti(loaded: LoadedModel, run: Run, attention: Attention, layer: int) -> np.ndarray:
    stream, moved, _ = slow_parts(loaded, run, attention, layer)
    stack = MODULES[attention][0]
    y = run.trace[f"{stack}.layers.{layer}.{'resid_mid_cross' if attention == 'cross' else 'resid_mid'}"][0]
    rows = []
    for i, output in enumerate(y):
        parts = [*moved[i], stream[i]] if attention == "cross" else list(moved[i])
        if attention != "cross":
            parts[i] = parts[i] + stream[i]
        near = [max(0.0, float(output.abs().sum() - (output - part).abs().sum())) for part in parts]
        rows.append(np.array(near) / sum(near))
    return np.stack(rows)


@pytest.mark.parametrize("kind", ["paper", "relative", "shifted", "rotary", "masked", "capped", "parallel"])
def test_alti_follows_its_equations(kind: str) -> None:
    loaded, run = ran(kind)
    for attention, layer in places(run):
        own = slow_alti(loaded, run, attention, layer)
        np.testing.assert_allclose(layer_shares(loaded, run, attention, layer), own, atol=2e-5)
    encoder = functools.reduce(
        lambda below, layer: slow_alti(loaded, run, "encoder", layer) @ below,
        range(run.trace.n_layers("encoder")),
        np.eye(len(run.encoder_input.ids)) if run.encoder_input else np.eye(0),
    )
    found = alti(loaded, run).by_stack
    if run.decoder_input is None:
        np.testing.assert_allclose(found["encoder"], encoder, atol=5e-5)
        return
    n = len(run.decoder_input.ids)
    source, prefix = np.zeros((n, len(encoder))), np.eye(n)
    for layer in range(run.trace.n_layers("decoder")):
        own = slow_alti(loaded, run, "decoder", layer)
        source, prefix = own @ source, own @ prefix
        if len(encoder):
            cross = slow_alti(loaded, run, "cross", layer)
            source = cross[:, -1:] * source + cross[:, :-1] @ encoder
            prefix = cross[:, -1:] * prefix
    np.testing.assert_allclose(found["decoder"], prefix, atol=5e-5)
    if len(encoder):
        np.testing.assert_allclose(found["encoder"], source, atol=5e-5)


@pytest.mark.parametrize("kind", MADE)
def test_shares_of_every_position_add_up_to_1_and_none_comes_from_the_future(kind: str) -> None:
    loaded, run = ran(kind)
    for shares in (alti(loaded, run).by_stack, rollout(loaded, run).by_stack):
        assert min(own.min() for own in shares.values()) >= 0
        np.testing.assert_allclose(sum(own.sum(axis=1) for own in shares.values()), 1, atol=1e-6)
        if "decoder" in shares:
            assert not np.triu(shares["decoder"], 1).any()


def test_rollout_of_one_layer_each_is_half_stream_and_half_weights() -> None:
    loaded = tiny_model(n_encoder_layers=1, n_decoder_layers=1)
    run = run_sentence(loaded, TEXT, "il cane")
    means = {
        one: attention_record(run.trace, one, 0).weights[0].double().mean(dim=0).numpy() for one in MODULES
    }
    encoder = (means["encoder"] + np.eye(len(means["encoder"]))) / 2
    decoder = (means["decoder"] + np.eye(len(means["decoder"]))) / 2
    found = rollout(loaded, run).by_stack
    np.testing.assert_allclose(found["encoder"], means["cross"] @ encoder / 2, atol=1e-9)
    np.testing.assert_allclose(found["decoder"], decoder / 2, atol=1e-9)


def test_value_norms_average_the_layers_at_the_words_rows() -> None:
    loaded, run = ran("paper")
    question = word_questions(loaded, run)[1]
    found = value_norms(loaded, run, question)
    pairs: list[tuple[Stack, Attention]] = [("encoder", "cross"), ("decoder", "decoder")]
    for stack, attention in pairs:
        layers = [moved_norms(loaded, run, attention, layer)[list(question.rows)] for layer in range(3)]
        shares = np.stack([one / one.sum(axis=1, keepdims=True) for one in layers])
        np.testing.assert_allclose(found[stack], shares.mean(axis=(0, 1)), atol=1e-6)


def test_untransposed_heads_are_refused_in_a_sentence() -> None:
    loaded = tiny_model(merge_heads="untransposed")
    run = run_sentence(loaded, TEXT)
    with pytest.raises(UntransposedError, match="does not transpose its heads back"):
        alti(loaded, run)
    with pytest.raises(UntransposedError, match="knock-outs or integrated gradients"):
        value_norms(loaded, run, word_questions(loaded, run)[0])
    with pytest.raises(UntransposedError):
        rollout(loaded, run)
