"""Rotary positions against products of complex numbers and Hugging Face's Llama."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from tests.transformer.model.core import deviation, tiny_config
from transformer.model.positions import rotary_wavelengths, rotate, rotation, wavelengths

BATCH, HEADS, LENGTH, D_HEAD, START = 2, 3, 7, 10, 5


def numbers(seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(BATCH, HEADS, LENGTH, D_HEAD, generator=generator, dtype=torch.float64)


def test_pairs_are_multiplied_by_unit_complex_numbers() -> None:
    x, base = numbers(), 50.0
    turned = rotate(x, rotation(START, LENGTH, wavelengths(D_HEAD, base), like=x))
    for position in range(LENGTH):
        for i in range(D_HEAD // 2):
            pair = torch.complex(x[..., position, 2 * i], x[..., position, 2 * i + 1])
            angle = torch.tensor((START + position) / base ** (2 * i / D_HEAD)).double()
            expected = pair * torch.polar(torch.ones_like(angle), angle)
            assert deviation(turned[..., position, 2 * i], expected.real) < 1e-6
            assert deviation(turned[..., position, 2 * i + 1], expected.imag) < 1e-6


def test_they_are_llamas_whose_pairs_are_half_a_head_apart() -> None:
    config = LlamaConfig(
        hidden_size=HEADS * D_HEAD,
        num_attention_heads=HEADS,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
    )
    q, k = numbers().float(), numbers(1).float()
    cos, sin = LlamaRotaryEmbedding(config)(q, torch.arange(START, START + LENGTH)[None])
    their_q, their_k = apply_rotary_pos_emb(halves(q), halves(k), cos, sin)
    by = rotation(START, LENGTH, wavelengths(D_HEAD, 500.0), like=q)
    assert deviation(halves(rotate(q, by)), their_q) < 1e-5
    assert deviation(halves(rotate(k, by)), their_k) < 1e-5


def halves(x: Tensor) -> Tensor:
    """The first number of each pair, then the second of each."""
    return torch.cat((x[..., ::2], x[..., 1::2]), dim=-1)


def test_the_angles_of_far_positions_are_exact() -> None:
    """Position 100,000 in float32 would be off by 4e-3."""
    x = numbers().float()
    cos, _ = rotation(100_000, 1, wavelengths(D_HEAD), like=x)
    assert abs(cos[0, 0].item() - torch.tensor(100_000.0).double().cos().item()) < 1e-7


STRETCHES: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "all": ({"rope_type": "linear", "factor": 2.5}, {"rotary_stretch": 2.5}),
    "long ones": (
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
        {"rotary_stretch": 8.0, "stretch_start": 2048.0, "stretch_full": 8192.0},
    ),
    "in a wide range": (
        {
            "rope_type": "llama3",
            "factor": 32.0,
            "low_freq_factor": 0.25,
            "high_freq_factor": 16.0,
            "original_max_position_embeddings": 512,
        },
        {"rotary_stretch": 32.0, "stretch_start": 32.0, "stretch_full": 2048.0},
    ),
}


@pytest.mark.parametrize("stretch", STRETCHES)
def test_wavelengths_are_stretched_as_llamas(stretch: str) -> None:
    rope, ours = STRETCHES[stretch]
    theirs = LlamaRotaryEmbedding(
        LlamaConfig(
            hidden_size=3 * 64,
            num_attention_heads=3,
            max_position_embeddings=131_072,
            rope_parameters=rope | {"rope_theta": 500_000.0},
        )
    )
    lengths = rotary_wavelengths(tiny_config(d_head=64, positions="rotary", position_base=500_000.0, **ours))
    expected = 2 * torch.pi / theirs.inv_freq.double()
    assert ((lengths - expected).abs() / expected).max() < 1e-5
    trained = wavelengths(64, 500_000.0)
    assert ((lengths > trained) == (trained > ours.get("stretch_start", 0))).all()
    is_full = trained >= ours.get("stretch_full", 0)
    assert torch.equal(lengths[is_full], trained[is_full] * ours["rotary_stretch"])


def test_between_two_equal_ends_nothing_is_mixed() -> None:
    config = tiny_config(positions="rotary", rotary_stretch=3.0, stretch_start=100.0, stretch_full=100.0)
    times = rotary_wavelengths(config) / wavelengths(config.d_head)
    assert ((times - 1).abs() < 1e-12).tolist() == (wavelengths(config.d_head) < 100).tolist()
    assert ((times - 3).abs() < 1e-12).tolist() == (wavelengths(config.d_head) >= 100).tolist()
