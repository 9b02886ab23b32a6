"""Position encodings against section 3.5 written out in Python."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

from tests.transformer.model.core import deviation, tiny_config
from transformer.model.positions import (
    LearnedPositions,
    SinusoidalPositions,
    alibi_slopes,
    sinusoidal_encoding,
    wavelengths,
)

LENGTH, D_MODEL = 17, 26


@pytest.mark.parametrize("base", [10_000.0, 7.0])
def test_encoding_is_section_3_5(base: float) -> None:
    """A published mistake is to double the exponent: `2 * i` where i already counts in twos."""
    encoding = sinusoidal_encoding(LENGTH, D_MODEL, base)
    assert encoding.shape == (LENGTH, D_MODEL)
    assert encoding.dtype == torch.float32
    for pos in range(LENGTH):
        for i in range(D_MODEL // 2):
            angle = pos / base ** (2 * i / D_MODEL)
            assert encoding[pos, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
            assert encoding[pos, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


def test_far_positions_are_as_exact_as_near_ones() -> None:
    encoding = sinusoidal_encoding(50_001, 4)
    for pos in (5_000, 50_000):
        expected = [math.sin(pos), math.cos(pos), math.sin(pos / 100), math.cos(pos / 100)]
        assert deviation(encoding[pos], torch.tensor(expected)) < 1e-7


def test_wavelengths_run_from_2_pi_towards_2_pi_base() -> None:
    lengths = wavelengths(512)
    assert lengths.shape == (256,)
    assert lengths[0].item() == pytest.approx(2 * math.pi)
    assert lengths[-1].item() == pytest.approx(2 * math.pi * 10_000 ** (510 / 512))
    ratios = lengths[1:] / lengths[:-1]
    assert deviation(ratios, ratios[0].expand_as(ratios)) < 1e-12, "a geometric progression"


def test_the_module_cuts_out_the_positions_asked_for() -> None:
    whole = sinusoidal_encoding(LENGTH, D_MODEL)
    module = SinusoidalPositions(tiny_config(max_len=LENGTH, d_model=D_MODEL, n_heads=1))
    assert torch.equal(module(3, 5), whole[3:8])
    assert not list(module.parameters())
    assert not module.state_dict()


def test_learned_positions_are_rows_of_a_matrix() -> None:
    module = LearnedPositions(LENGTH, D_MODEL)
    torch.nn.init.normal_(module.weight, generator=torch.Generator().manual_seed(0))
    assert torch.equal(module(3, 5), module.weight[3:8])
    module(3, 5).sum().backward()
    assert module.weight.grad is not None
    assert module.weight.grad.sum(dim=-1).tolist() == [0.0] * 3 + [float(D_MODEL)] * 5 + [0.0] * (LENGTH - 8)


def test_halves_are_marians_table() -> None:
    theirs: Any = MarianSinusoidalPositionalEmbedding(LENGTH, D_MODEL)
    table = theirs.create_weight()
    assert deviation(sinusoidal_encoding(LENGTH, D_MODEL, layout="halves"), table) < 1e-6


@pytest.mark.parametrize("n_heads", [*range(1, 18), 112])
def test_slopes_are_blooms_for_any_number_of_heads(n_heads: int) -> None:
    expected = build_alibi_tensor(torch.ones(1, 2), n_heads, torch.float32)[:, 0, 1]
    assert deviation(alibi_slopes(n_heads), expected) < 1e-7
