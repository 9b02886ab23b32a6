"""Mistakes in published from-scratch Transformers, with one test each that would catch it.

The expected numbers are worked out here, not taken from another implementation, so that each test shows
what is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tests.transformer.model.core import (
    deviation,
    pair_batch,
    random_ids,
    tiny_transformer,
    trace_of,
    with_pair,
)
from transformer.model.attention import (
    MultiHeadAttention,
    fused_attention,
    masked_softmax,
    scaled_dot_product_attention,
)
from transformer.model.normalization import LayerNorm
from transformer.model.positions import sinusoidal_encoding
from transformer.model.trace import Recorder


def test_the_exponent_of_positions_is_not_doubled() -> None:
    """`2 * i` where i already counts in twos: dimension 4 of 8 would have base^(8/8), not base^(4/8)."""
    encoding = sinusoidal_encoding(5, 8, base=16.0)
    assert encoding[3, 4].item() == pytest.approx(math.sin(3 / 16 ** (4 / 8)), abs=1e-6)
    assert encoding[3, 4].item() != pytest.approx(math.sin(3 / 16 ** (8 / 8)), abs=0.1)


def test_the_base_of_positions_is_10000_not_1000() -> None:
    trace = trace_of(tiny_transformer(), *pair_batch(tiny_transformer().config))
    slowest = trace["tgt_embedding.positions"][0, 4, 64]
    assert slowest.item() == pytest.approx(math.sin(4 / 10_000 ** (64 / 66)), rel=1e-5)


def identity_attention(n_heads: int, d_head: int) -> MultiHeadAttention:
    """All projections are the identity: the output only mixes and moves the inputs by the weights."""
    module = MultiHeadAttention(n_heads * d_head, n_heads, bias=False)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.eye(n_heads * d_head))
    return module


@pytest.mark.parametrize("tapped", [True, False], ids=["tapped", "untapped"])
def test_heads_are_transposed_back_before_they_are_merged(tapped: bool) -> None:
    """With one key, each query gets that key's vector unchanged; without transposing back it is scrambled."""
    x = torch.arange(2 * 5 * 33.0).reshape(2, 5, 33)
    memory = torch.arange(2 * 33.0).reshape(2, 1, 33)
    module = identity_attention(n_heads=3, d_head=11)
    out = module(x, memory, None, Recorder()) if tapped else module(x, memory, None)
    assert torch.equal(out, memory.expand(2, 5, 33))


@pytest.mark.parametrize("tapped", [True, False], ids=["tapped", "untapped"])
def test_the_cross_attention_mask_closes_source_keys(tapped: bool) -> None:
    """Transposed, it would mask target queries instead, which goes unnoticed only if lengths are equal."""
    model = tiny_transformer()
    src, tgt = random_ids(29, 2, 5), random_ids(31, 2, 5)
    src[0, 3:] = 0
    recorder = Recorder()
    logits = model(src, tgt, tap=recorder) if tapped else model(src, tgt)
    alone = model(src[:1, :3], tgt[:1], tap=Recorder()) if tapped else model(src[:1, :3], tgt[:1])
    assert deviation(logits[:1], alone) < 1e-5, "padding of the source is as if it were not there"
    assert logits.isfinite().all()
    if tapped:
        weights = recorder.records["decoder.layers.0.cross_attn.weights"]
        assert not weights[0, :, :, 3:].any()
        assert (weights[0, :, :, :3] > 0).all(), "every query looks at every word"
        assert (weights[1] > 0).all()


@pytest.mark.parametrize("attention", [scaled_dot_product_attention, fused_attention])
def test_a_row_that_may_look_at_nothing_gets_zeros(attention: Callable[..., Tensor]) -> None:
    """-1e9 for minus infinity makes it uniform over masked keys; minus infinity makes it NaN."""
    q, k = torch.ones(2, 3, 5, 11), torch.ones(2, 3, 7, 11)
    mask = torch.ones(2, 1, 5, 7, dtype=torch.bool)
    mask[1, 0, 2] = False
    z = attention(q, k, k, mask)
    assert not z[1, :, 2].any()
    assert deviation(z[0], torch.ones(3, 5, 11)) < 1e-6


def test_a_masked_weight_is_exactly_zero() -> None:
    """Scores below a finite stand-in for minus infinity would invert the mask."""
    weights = masked_softmax(torch.tensor([-3e9, -3e9, 5.0]), torch.tensor([True, True, False]))
    assert weights.tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("masked", [True, False])
def test_softmax_subtracts_the_maximum(masked: bool) -> None:
    """exp(1e4) overflows to infinity, and infinity over infinity is NaN."""
    scores = torch.tensor([1e4, 1e4, 1e4 - math.log(2), -1e4])
    mask = torch.ones(4, dtype=torch.bool) if masked else None
    assert deviation(masked_softmax(scores, mask), torch.tensor([0.4, 0.4, 0.2, 0.0])) < 1e-3
    assert masked_softmax(torch.full((3,), -1e4), None).tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("tapped", [True, False], ids=["tapped", "untapped"])
def test_scores_are_scaled_by_the_root_of_d_head(tapped: bool) -> None:
    """Not of d_model: with 4 heads, every score would be half as large and the attention flatter."""
    module = identity_attention(n_heads=4, d_head=4)
    x = torch.zeros(1, 1, 16)
    x[0, 0, 0] = 1.0
    memory = torch.stack((x[0, 0], 3 * x[0, 0]))[None]
    out = module(x, memory, None, Recorder()) if tapped else module(x, memory, None)
    # Head 0's scores are 1 / 2 and 3 / 2, its values 1 and 3.
    low, high = math.exp(1 / 2), math.exp(3 / 2)
    assert out[0, 0, 0].item() == pytest.approx((low + 3 * high) / (low + high), rel=1e-6)


def test_layer_norm_is_over_one_axis() -> None:
    """If tokens were included, a sentence's other words would change how a word is normalized."""
    x = torch.stack((torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([10.0, 20.0, 30.0, 40.0])))[None]
    result = LayerNorm(4, 1e-12)(x)[0]
    assert deviation(result[0], result[1]) < 1e-6
    assert result[0].tolist() == pytest.approx([-3 / 5**0.5, -1 / 5**0.5, 1 / 5**0.5, 3 / 5**0.5])


def test_layer_norm_has_the_biased_deviation_with_eps_under_the_root() -> None:
    """The variance of -1 and 1 is 1, not 2; and sqrt(1 + 3) is 2, not 1 + 3."""
    assert LayerNorm(2, 3.0)(torch.tensor([[[-1.0, 1.0]]])).flatten().tolist() == [-0.5, 0.5]


def test_embeddings_are_multiplied_by_the_root_of_d_model() -> None:
    model, src, tgt = with_pair(tiny_transformer())
    trace = trace_of(model, src, tgt)
    for side, ids in (("src_embedding", src), ("tgt_embedding", tgt)):
        row = model.get_parameter(f"{side}.weight")[ids[1, 2]]
        assert deviation(trace[f"{side}.tokens"][1, 2], row * math.sqrt(66)) < 1e-6


def test_the_forward_gives_logits_that_can_be_trained() -> None:
    """Not the best token, which has no gradient, nor probabilities, to which a loss applies softmax again."""
    model, src, tgt = with_pair(tiny_transformer())
    logits: Tensor = model(src, tgt)
    assert logits.shape == (2, 5, 31)
    assert logits.is_floating_point()
    assert logits.requires_grad
    assert (logits < 0).any()
    assert deviation(logits.exp().sum(dim=-1), torch.ones(2, 5)) > 0.1, "nor log-probabilities"
