"""Choices introduced after the paper, each against an independent computation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.transformer.model.core import (
    KINDS,
    batch,
    deviation,
    one,
    random_ids,
    tiny_transformer,
    trace_of,
    with_pair,
)
from transformer.model.attention import MultiHeadAttention
from transformer.model.positions import rotary_wavelengths, wavelengths
from transformer.model.trace import Recorder

TOLERANCE = 1e-12
ROTARY = {"positions": "rotary"}


def normed(norm: nn.Module, x: Tensor) -> Tensor:
    """Layer norm, written out."""
    gamma, beta = norm.get_parameter("gamma"), norm.get_parameter("beta")
    centred = x - x.mean(dim=-1, keepdim=True)
    return gamma * centred / (centred.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt() + beta


def turned(x: np.ndarray, base: float, n_dims: int, stretch: float = 1.0) -> np.ndarray:
    """Heads (B, H, T, d_head) whose first n_dims numbers are pairs, rotated as complex numbers."""
    pairs = x[..., :n_dims:2] + 1j * x[..., 1:n_dims:2]
    speed = base ** (-np.arange(0, n_dims, 2) / n_dims) / stretch
    pairs = pairs * np.exp(1j * np.arange(x.shape[2])[:, None] * speed)
    out = x.copy()
    out[..., :n_dims:2], out[..., 1:n_dims:2] = pairs.real, pairs.imag
    return out


def test_factors_are_where_they_act() -> None:
    factors = {"embedding_scale": 3.5, "attention_scale": 0.15, "residual_scale": 0.4, "logits_scale": 0.3}
    model, src, tgt = with_pair(tiny_transformer(norm_position="pre", **factors).double())
    trace = trace_of(model, src, tgt)
    assert deviation(trace["src_embedding.tokens"], 3.5 * model.src_embedding.weight[src]) < TOLERANCE
    layer = "decoder.layers.1"
    q, k = trace[f"{layer}.self_attn.q"], trace[f"{layer}.self_attn.k"]
    assert deviation(trace[f"{layer}.self_attn.scores"], 0.15 * q @ k.mT) < TOLERANCE
    stream = trace[f"{layer}.resid_pre"]
    for name, point in (
        ("self_attn", "resid_mid"),
        ("cross_attn", "resid_mid_cross"),
        ("feed_forward", "resid_post"),
    ):
        stream = stream + 0.4 * trace[f"{layer}.{name}.out"]
        assert deviation(trace[f"{layer}.{point}"], stream) < TOLERANCE
    hidden = 0.3 * trace["decoder.layers.2.resid_post"]
    expected = nn.functional.linear(hidden, model.generator.weight, model.generator.bias)
    assert deviation(trace["logits"], expected) < TOLERANCE


def test_a_factor_of_the_residual_in_post_norm_stands_inside_of_the_norm() -> None:
    model = tiny_transformer(**KINDS["encoder-only"], residual_scale=1.5).double()
    trace = trace_of(model, *batch(model.config))
    path = "encoder.layers.1"
    inside = trace[f"{path}.resid_pre"] + 1.5 * trace[f"{path}.self_attn.out"]
    norm = model.get_submodule(f"{path}.self_attn_norm")
    assert deviation(trace[f"{path}.resid_mid"], normed(norm, inside)) < TOLERANCE


@pytest.mark.parametrize("kind", KINDS)
def test_without_norms_each_sublayer_reads_the_stream_itself(kind: str) -> None:
    model = tiny_transformer(**KINDS[kind], norm_position="none", residual_scale=0.7).double()
    trace = trace_of(model, *batch(model.config))
    assert not any("norm" in path for path in (*trace, *model.state_dict()))
    path = f"{'encoder' if model.config.n_encoder_layers else 'decoder'}.layers.1"
    attention = model.get_submodule(f"{path}.self_attn")
    assert isinstance(attention, MultiHeadAttention)
    before, between = trace[f"{path}.resid_pre"], trace[f"{path}.resid_mid"]
    read = attention.split_heads(attention.w_v(before))
    assert deviation(trace[f"{path}.self_attn.v"], read) < TOLERANCE
    assert deviation(between, before + 0.7 * trace[f"{path}.self_attn.out"]) < TOLERANCE
    last = trace.get(f"{path}.resid_mid_cross", between)
    out = model.get_submodule(f"{path}.feed_forward")(last)
    assert deviation(trace[f"{path}.resid_post"], last + 0.7 * out) < TOLERANCE


def test_norms_before_and_after_each_sublayer() -> None:
    model, src, tgt = with_pair(tiny_transformer(norm_position="both", residual_scale=0.7).double())
    trace = trace_of(model, src, tgt)
    path = "decoder.layers.2"
    before = trace[f"{path}.resid_pre"]
    for name, point in (
        ("self_attn", "resid_mid"),
        ("cross_attn", "resid_mid_cross"),
        ("feed_forward", "resid_post"),
    ):
        first, second = (model.get_submodule(f"{path}.{name}{end}") for end in ("_norm", "_post_norm"))
        assert deviation(trace[f"{path}.{name}_norm.result"], normed(first, before)) < TOLERANCE
        added = normed(second, trace[f"{path}.{name}.out"])
        assert deviation(trace[f"{path}.{name}_post_norm.result"], added) < TOLERANCE
        before = before + 0.7 * added
        assert deviation(trace[f"{path}.{point}"], before) < TOLERANCE
    x = trace[f"{path}.feed_forward_norm.result"]
    assert deviation(model.get_submodule(f"{path}.feed_forward")(x), trace[f"{path}.feed_forward.out"]) == 0


@torch.no_grad()
def test_parallel_sublayers_read_the_same_stream() -> None:
    model = tiny_transformer(**KINDS["decoder-only"], norm_position="pre", parallel_residual=True).double()
    _, tgt = batch(model.config)
    trace = trace_of(model, None, tgt)
    for i in range(3):
        path = f"decoder.layers.{i}"
        start = trace[f"{path}.resid_pre"]
        norms = [model.get_submodule(f"{path}.{name}_norm") for name in ("self_attn", "feed_forward")]
        assert deviation(trace[f"{path}.self_attn_norm.result"], normed(norms[0], start)) < TOLERANCE
        forward = model.get_submodule(f"{path}.feed_forward")(normed(norms[1], start))
        assert deviation(trace[f"{path}.feed_forward.out"], forward) < TOLERANCE
        between = start + trace[f"{path}.self_attn.out"]
        assert deviation(trace[f"{path}.resid_mid"], between) < TOLERANCE
        assert deviation(trace[f"{path}.resid_post"], between + forward) < TOLERANCE


@pytest.mark.parametrize("positions", ["sinusoidal", "relative"])
def test_soft_caps_bend_scores_and_logits(positions: str) -> None:
    caps = {"attention_soft_cap": 0.8, "logits_soft_cap": 1.2, "positions": positions}
    model, src, tgt = with_pair(tiny_transformer(**caps).double())
    trace = trace_of(model, src, tgt)
    record = trace.attention("encoder", 1, "self_attn")
    uncapped = record.q @ record.k.mT / math.sqrt(22)
    if positions == "relative":
        uncapped = uncapped + trace[f"{record.path}.position_bias"]
    assert deviation(trace[f"{record.path}.scores_uncapped"], uncapped) < TOLERANCE
    assert deviation(record.scores, 0.8 * (uncapped / 0.8).tanh()) < TOLERANCE
    open_keys = record.scores.masked_fill(~record.mask, -math.inf)
    assert deviation(record.weights, open_keys.softmax(dim=-1)) < TOLERANCE
    out = trace["decoder.layers.2.resid_post"]
    logits = nn.functional.linear(out, model.generator.weight, model.generator.bias)
    assert deviation(trace["logits_uncapped"], logits) < TOLERANCE
    assert deviation(trace["logits"], 1.2 * (logits / 1.2).tanh()) < TOLERANCE
    assert logits.abs().max() > 1.2
    assert "logits_uncapped" not in trace_of(tiny_transformer(), src, tgt)


def test_the_leading_numbers_of_a_head_are_turned() -> None:
    model, src, tgt = with_pair(tiny_transformer(**ROTARY, rotary_dims=6, position_base=30.0).double())
    trace = trace_of(model, src, tgt)
    for path in ("encoder.layers.1.self_attn", "decoder.layers.0.self_attn"):
        for name in ("q", "k"):
            expected = turned(trace[f"{path}.{name}_unrotated"].numpy(), 30.0, 6)
            assert deviation(trace[f"{path}.{name}"], torch.from_numpy(expected)) < 1e-9
        scores = trace[f"{path}.q"] @ trace[f"{path}.k"].mT / 22**0.5
        assert deviation(trace[f"{path}.scores"], scores) < TOLERANCE
    assert "decoder.layers.1.cross_attn.q_unrotated" not in trace
    assert rotary_wavelengths(model.config).tolist() == pytest.approx(
        [2 * math.pi * 30 ** (i / 3) for i in range(3)]
    )


def test_each_layer_may_have_its_own_base_or_none() -> None:
    bases = {"position_base": 500.0, "position_bases": (30.0, 500.0, 9.0, 0.0, 500.0), "rotary_stretch": 2.0}
    model, src, tgt = with_pair(tiny_transformer(**ROTARY, **bases).double())
    trace = trace_of(model, src, tgt)
    for layer, base, stretch in ((0, 9.0, 1.0), (2, 500.0, 2.0)):
        path = f"decoder.layers.{layer}.self_attn"
        expected = turned(trace[f"{path}.q_unrotated"].numpy(), base, 22, stretch)
        assert deviation(trace[f"{path}.q"], torch.from_numpy(expected)) < 1e-9
    assert "decoder.layers.1.self_attn.q_unrotated" not in trace
    for layer, base, stretch in ((0, 30.0, 1.0), (1, 500.0, 2.0)):
        path = f"encoder.layers.{layer}.self_attn"
        expected = turned(trace[f"{path}.k_unrotated"].numpy(), base, 22, stretch)
        assert deviation(trace[f"{path}.k"], torch.from_numpy(expected)) < 1e-9


def test_shared_layers_are_one_layer_again_and_again() -> None:
    model, src, tgt = with_pair(tiny_transformer(shared_layers=True).double())
    separate = tiny_transformer().double()
    separate.load_state_dict(model.state_dict())
    assert deviation(model(src, tgt), separate(src, tgt)) == 0
    n_encoder = sum(p.numel() for p in separate.encoder.layers[0].parameters())
    n_decoder = sum(p.numel() for p in separate.decoder.layers[0].parameters())
    fewer = sum(p.numel() for p in separate.parameters()) - sum(p.numel() for p in model.parameters())
    assert fewer == n_encoder + 2 * n_decoder
    assert trace_of(model, src, tgt).n_layers("decoder") == 3


@torch.no_grad()
def test_narrow_embeddings_are_widened_and_the_generator_reads_them_again() -> None:
    choices = {"d_embedding": 14, "embedding_norm": True, "n_segments": 2, "generator_transform": True}
    model = tiny_transformer(**KINDS["encoder-only"], **choices, positions="learned").double()
    src, _ = batch(model.config)
    assert src is not None
    trace, embedding = trace_of(model, src, None), model.src_embedding
    weights = dict(embedding.named_parameters())
    x = (
        66**0.5 * weights["weight"][src]
        + weights["segments"][0]
        + weights["positions.weight"][: src.shape[1]]
    )
    narrow = normed(embedding.get_submodule("norm"), x)
    assert deviation(trace["src_embedding.unprojected"], narrow) < TOLERANCE
    out = narrow @ weights["projection.weight"].T + weights["projection.bias"]
    assert deviation(trace["src_embedding.out"], out) < TOLERANCE
    assert embedding.weight.shape == model.generator.weight.shape == (29, 14)
    assert model.generator.weight is embedding.weight
    head = model.generator_transform
    hidden = normed(head.norm, nn.functional.relu(head.dense(trace["encoder.layers.1.resid_post"])))
    assert hidden.shape[-1] == 14
    assert deviation(trace["logits"], hidden @ embedding.weight.T + model.generator.bias) < TOLERANCE


def test_an_untied_generator_reads_the_stream_itself() -> None:
    model = tiny_transformer(d_embedding=14, tie_generator=False)
    assert (model.tgt_embedding.weight.shape, model.generator.weight.shape) == ((31, 14), (31, 66))


def test_fresh_projections_are_matrices_like_others() -> None:
    """Xavier-uniform: the numbers are within a bound that embeddings exceed."""
    projection = tiny_transformer(d_embedding=14, tie_generator=False).src_embedding.projection
    assert projection is not None
    bound = math.sqrt(6 / (14 + 66))
    assert 0.95 * bound < projection.weight.abs().max() <= bound


def test_sinusoids_up_to_the_base_from_a_first_position_on() -> None:
    """tensor2tensor's table: the exponent steps by 1 / (d_model / 2 - 1)."""
    choices = {"sinusoid_layout": "halves_to_base", "position_offset": 3, "position_base": 700.0}
    model, src, tgt = with_pair(tiny_transformer(**choices))
    speed = np.exp(-np.arange(33) * math.log(700.0) / 32)
    angles = np.arange(3, 3 + 7)[:, None] * speed
    table = torch.from_numpy(np.concatenate([np.sin(angles), np.cos(angles)], axis=1)).float()
    trace = trace_of(model, src, tgt)
    assert deviation(trace["src_embedding.positions"][0], table) < 1e-6
    assert deviation(trace["tgt_embedding.positions"][0], table[:5]) < 1e-6
    assert wavelengths(66, 700.0, "halves_to_base")[-1].item() == pytest.approx(2 * math.pi * 700)
    state = model.start(src)
    steps = torch.cat([model.step(tgt[:, [i]], state) for i in range(5)], dim=1)
    assert deviation(steps, trace["logits"]) < 1e-5
    assert model(random_ids(29, 1, 13), tgt[:1]).isfinite().all(), "max_len tokens, the offset not counted"


@pytest.mark.parametrize("tapped", [True, False], ids=["tapped", "untapped"])
def test_cross_attention_may_see_the_sources_padding(tapped: bool) -> None:
    model, src, tgt = with_pair(tiny_transformer(memory_padding_mask=False).double())
    logits = model(src, tgt, tap=Recorder()) if tapped else model(src, tgt)
    trace = trace_of(model, src, tgt)
    cross = trace.attention("decoder", 0, "cross_attn")
    assert (cross.weights[1, :, :, 4:] > 0).all(), "the padding of the second source"
    assert deviation(cross.weights, (cross.q @ cross.k.mT / math.sqrt(22)).softmax(dim=-1)) < TOLERANCE
    assert cross.mask.all()
    weights = trace.attention("encoder", 0, "self_attn").weights
    assert not weights[1, :, :, 4:].any(), "the encoder masks it as ever"
    masking = tiny_transformer().double()
    masking.load_state_dict(model.state_dict())
    expected = masking(src, tgt)
    assert deviation(logits[0], expected[0]) < TOLERANCE, "nothing is padded in the first"
    assert deviation(logits[1], expected[1]) > 1e-3
    assert deviation(model(one(src, 1), tgt[1:]), masking(one(src, 1), tgt[1:])) < TOLERANCE
    state = model.start(src)
    steps = torch.cat([model.step(tgt[:, [i]], state) for i in range(5)], dim=1)
    assert deviation(steps, logits) < TOLERANCE
