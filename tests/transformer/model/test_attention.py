"""Attention against its formula, number by number, and the fused kernel against both."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.transformer.model.core import deviation
from transformer.device import available_devices
from transformer.model.attention import (
    MultiHeadAttention,
    fused_attention,
    masked_softmax,
    scaled_dot_product_attention,
)
from transformer.model.cache import KeyValueCache
from transformer.model.trace import Recorder

BATCH, HEADS, QUERIES, KEYS, D_HEAD = 2, 3, 5, 7, 11
D_MODEL = HEADS * D_HEAD

# Masks broadcast: padding has one row for all queries, the causal mask is the same for all sentences.
MASK_SHAPES = [
    (BATCH, HEADS, QUERIES, KEYS),
    (BATCH, 1, QUERIES, KEYS),
    (BATCH, 1, 1, KEYS),
    (1, 1, QUERIES, KEYS),
]


def qkv(seed: int = 0, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(BATCH, HEADS, QUERIES, D_HEAD, generator=generator, dtype=dtype)
    k = torch.randn(BATCH, HEADS, KEYS, D_HEAD, generator=generator, dtype=dtype)
    v = torch.randn(BATCH, HEADS, KEYS, D_HEAD, generator=generator, dtype=dtype)
    return q, k, v


def random_mask(shape: tuple[int, ...], seed: int = 0) -> Tensor:
    """About half of the cells open, and one row fully masked."""
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    mask[0, 0, 0] = False
    return mask


def by_hand(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Equation 1 in plain Python: weights (B, H, Q, K) and z (B, H, Q, d_head)."""
    allowed = mask.expand(BATCH, HEADS, QUERIES, KEYS)
    weights, z = torch.zeros(BATCH, HEADS, QUERIES, KEYS).double(), torch.zeros_like(q)
    for b in range(BATCH):
        for h in range(HEADS):
            for i in range(QUERIES):
                open_keys = [j for j in range(KEYS) if allowed[b, h, i, j]]
                powers = {
                    j: math.exp(sum((q[b, h, i] * k[b, h, j]).tolist()) / math.sqrt(D_HEAD))
                    for j in open_keys
                }
                for j in open_keys:
                    weights[b, h, i, j] = powers[j] / sum(powers.values())
                    z[b, h, i] += weights[b, h, i, j] * v[b, h, j]
    return weights, z


@pytest.mark.parametrize("shape", MASK_SHAPES, ids=str)
def test_attention_is_equation_1(shape: tuple[int, ...]) -> None:
    """Published mistakes: scaling by d_model, and -1e9 for minus infinity, which opens a closed row."""
    q, k, v = qkv()
    mask = random_mask(shape)
    weights, expected = by_hand(q, k, v, mask)
    recorder = Recorder()
    z = scaled_dot_product_attention(q, k, v, mask, recorder)
    assert deviation(z, expected) < 1e-14
    assert deviation(recorder.records["weights"], weights) < 1e-14
    assert deviation(fused_attention(q, k, v, mask), expected) < 1e-14


def test_without_a_mask_everything_is_open() -> None:
    q, k, v = qkv()
    _, expected = by_hand(q, k, v, torch.ones(KEYS, dtype=torch.bool))
    assert deviation(scaled_dot_product_attention(q, k, v, None), expected) < 1e-14
    assert deviation(fused_attention(q, k, v, None), expected) < 1e-14


def test_what_is_recorded() -> None:
    """Recorded scores are scaled but not yet masked, so masked cells can still be seen."""
    q, k, v = qkv()
    mask = random_mask((BATCH, 1, 1, KEYS))
    recorder = Recorder()
    z = scaled_dot_product_attention(q, k, v, mask, recorder)
    assert list(recorder.records) == ["scores", "mask", "weights", "z"]
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(D_HEAD)
    assert deviation(recorder.records["scores"], scores) < 1e-14
    assert torch.equal(recorder.records["mask"], mask)
    assert torch.equal(recorder.records["z"], z)


@pytest.mark.parametrize("device", available_devices())
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@given(data=st.data(), shape=st.sampled_from(MASK_SHAPES), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_fused_and_explicit_are_equal_for_every_mask(
    device: str, dtype: torch.dtype, data: st.DataObject, shape: tuple[int, ...], seed: int
) -> None:
    cells = data.draw(st.integers(0, 2 ** min(math.prod(shape), 60) - 1))
    bits = [bool(cells >> (i % 60) & 1) for i in range(math.prod(shape))]
    mask = torch.tensor(bits).reshape(shape).to(device)
    q, k, v = (x.to(device) for x in qkv(seed, dtype))
    explicit, fused = scaled_dot_product_attention(q, k, v, mask), fused_attention(q, k, v, mask)
    tolerance = {torch.float32: 2e-6, torch.float16: 1e-2, torch.bfloat16: 5e-2}[dtype]
    assert explicit.dtype == fused.dtype == dtype
    assert deviation(explicit.float(), fused.float()) < tolerance
    closed = ~mask.any(dim=-1, keepdim=True).expand(BATCH, HEADS, QUERIES, 1)
    assert not explicit.masked_select(closed).any(), "a row that may look at nothing gets zeros"
    assert not fused.masked_select(closed).any()


@pytest.mark.parametrize("shape", MASK_SHAPES, ids=str)
@pytest.mark.parametrize("everything_closed", [False, True])
def test_gradients_are_finite_and_equal(shape: tuple[int, ...], everything_closed: bool) -> None:
    mask = random_mask(shape) & (not everything_closed)
    gradients = []
    for attention in (scaled_dot_product_attention, fused_attention):
        q, k, v = (x.requires_grad_() for x in qkv())
        attention(q, k, v, mask).square().sum().backward()
        gradients.append((q.grad, k.grad, v.grad))
    for explicit, fused in zip(*gradients, strict=True):
        assert explicit is not None
        assert fused is not None
        assert explicit.isfinite().all()
        assert deviation(explicit, fused) < 1e-13
        assert explicit.any() != everything_closed


@given(st.data())
@settings(max_examples=30)
def test_softmax_is_a_distribution_over_the_open_keys(data: st.DataObject) -> None:
    number = st.floats(-1e4, 1e4, width=32)
    scores = torch.tensor(data.draw(st.lists(number, min_size=KEYS, max_size=KEYS)))
    mask = torch.tensor(data.draw(st.lists(st.booleans(), min_size=KEYS, max_size=KEYS)))
    weights = masked_softmax(scores, mask)
    assert weights.isfinite().all()
    assert not weights[~mask].any()
    assert weights.sum().item() == pytest.approx(1.0 if mask.any() else 0.0, abs=1e-6)


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


def test_no_key_at_all_gives_zeros() -> None:
    q, k, v = qkv()
    mask = torch.ones(BATCH, 1, 1, 0, dtype=torch.bool)
    for attention in (scaled_dot_product_attention, fused_attention):
        assert torch.equal(attention(q, k[:, :, :0], v[:, :, :0], mask), torch.zeros_like(q))


def multi_head(seed: int = 0) -> MultiHeadAttention:
    module = MultiHeadAttention(D_MODEL, HEADS, bias=True).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.3, generator=generator)
    return module


def test_heads_read_their_own_columns() -> None:
    module = multi_head()
    x = torch.arange(BATCH * QUERIES * D_MODEL).reshape(BATCH, QUERIES, D_MODEL)
    heads = module.split_heads(x)
    assert heads.shape == (BATCH, HEADS, QUERIES, D_HEAD)
    for h in range(HEADS):
        assert torch.equal(heads[:, h], x[:, :, h * D_HEAD : (h + 1) * D_HEAD])
    assert torch.equal(module.merge_heads(heads), x)


def test_multi_head_is_a_sum_over_heads() -> None:
    """Concat(head_1, ..., head_H) W_O, head by head, each with its own columns of W_O.

    A published mistake is to merge heads that were not transposed back.
    """
    module = multi_head()
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(BATCH, QUERIES, D_MODEL, generator=generator, dtype=torch.float64)
    memory = torch.randn(BATCH, KEYS, D_MODEL, generator=generator, dtype=torch.float64)
    mask = random_mask((BATCH, 1, QUERIES, KEYS))
    expected = module.w_o.bias.expand(BATCH, QUERIES, D_MODEL)
    for h in range(HEADS):
        own = slice(h * D_HEAD, (h + 1) * D_HEAD)
        q = x @ module.w_q.weight[own].T + module.w_q.bias[own]
        k = memory @ module.w_k.weight[own].T + module.w_k.bias[own]
        v = memory @ module.w_v.weight[own].T + module.w_v.bias[own]
        scores = (q @ k.transpose(1, 2) / math.sqrt(D_HEAD)).masked_fill(~mask[:, 0], -torch.inf)
        weights = scores.softmax(dim=-1).nan_to_num(0.0)
        expected = expected + weights @ v @ module.w_o.weight[:, own].T
    recorder = Recorder()
    assert deviation(module(x, memory, mask), expected) < 1e-13
    assert deviation(module(x, memory, mask, recorder), expected) < 1e-13
    assert list(recorder.records) == ["q", "k", "v", "scores", "mask", "weights", "z", "out"]


def test_a_full_cache_needs_no_memory() -> None:
    """Cross-attention computes the source's keys and values only once."""
    module = multi_head()
    x, memory = torch.ones(1, 1, D_MODEL).double(), torch.ones(1, KEYS, D_MODEL).double()
    cache = KeyValueCache()
    first = module(x, memory, None, cache=cache)
    assert torch.equal(module(x, memory[:, KEYS:], None, cache=cache), first)
    assert len(cache) == KEYS


@pytest.mark.parametrize("shape", [None, *MASK_SHAPES], ids=str)
@pytest.mark.parametrize(
    "scaled, n_kv_heads, dtype",
    [(True, 1, torch.float64), (False, HEADS, torch.float64), (False, 1, torch.bfloat16)],
    ids=str,
)
def test_biased_grouped_and_unscaled_attention_is_written_out(
    shape: tuple[int, ...] | None, scaled: bool, n_kv_heads: int, dtype: torch.dtype
) -> None:
    q, k, v = qkv(dtype=dtype)
    k, v = k[:, :n_kv_heads], v[:, :n_kv_heads]
    bias = torch.randn(1, HEADS, QUERIES, KEYS, generator=torch.Generator().manual_seed(2)).to(dtype)
    mask = None if shape is None else random_mask(shape)
    allowed = torch.ones(1, dtype=torch.bool) if mask is None else mask
    scores = torch.einsum("bhqd,bhkd->bhqk", q.double(), k.double().repeat(1, HEADS // n_kv_heads, 1, 1))
    scores = scores / (math.sqrt(D_HEAD) if scaled else 1.0) + bias.double()
    weights = (scores.exp() * allowed) / (scores.exp() * allowed).sum(dim=-1, keepdim=True).clamp(min=1e-300)
    expected = weights @ v.double().repeat(1, HEADS // n_kv_heads, 1, 1)
    tolerance = 1e-13 if dtype == torch.float64 else 0.1
    for attention in (scaled_dot_product_attention, fused_attention):
        z = attention(q, k, v, mask, bias=bias, scale=None if scaled else 1.0)
        assert z.dtype == dtype
        assert deviation(z.double(), expected) < tolerance


def test_a_bias_that_is_learned_gets_the_same_gradient_from_both() -> None:
    gradients = []
    for attention in (scaled_dot_product_attention, fused_attention):
        bias = torch.zeros(1, HEADS, QUERIES, KEYS, dtype=torch.float64, requires_grad=True)
        q, k, v = qkv()
        attention(q, k, v, random_mask(MASK_SHAPES[1]), bias=bias).square().sum().backward()
        assert bias.grad is not None
        gradients.append(bias.grad)
    assert deviation(gradients[0], gradients[1]) < 1e-13
    assert gradients[0].abs().max() > 1e-3
