"""Relative positions against Hugging Face's T5, where this bias was introduced."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import T5Config
from transformers.models.t5.modeling_t5 import T5Attention

from transformer.model.positions import RelativeBias, distance_buckets

HEADS, QUERIES, START = 3, 5, 7


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize("n_buckets, max_distance", [(32, 128), (8, 5), (10, 37), (64, 500)])
def test_every_distance_has_the_published_bucket(both_ways: bool, n_buckets: int, max_distance: int) -> None:
    distances = torch.arange(-700, 701)
    theirs: Any = T5Attention
    expected = theirs._relative_position_bucket(distances, both_ways, n_buckets, max_distance)
    ours = distance_buckets(distances, n_buckets, max_distance, both_ways=both_ways)
    assert torch.equal(ours, expected)
    assert ours.max() == n_buckets - 1


@pytest.mark.parametrize("both_ways", [True, False])
def test_the_bias_is_t5s_for_the_first_tokens_and_for_later_ones(both_ways: bool) -> None:
    config = T5Config(
        num_heads=HEADS,
        relative_attention_num_buckets=10,
        relative_attention_max_distance=8,
        is_decoder=not both_ways,
    )
    theirs: Any = T5Attention(config, has_relative_attention_bias=True)
    ours = RelativeBias(HEADS, 10, 8, both_ways=both_ways)
    with torch.no_grad():
        table = torch.randn(10, HEADS, generator=torch.Generator().manual_seed(0))
        ours.weight.copy_(table)
        theirs.relative_attention_bias.weight.copy_(table)
    n = START + QUERIES
    expected = theirs.compute_bias(n, n)
    assert torch.equal(ours(0, n), expected)
    assert torch.equal(ours(START, QUERIES), expected[:, :, START:])
    assert ours(START, QUERIES).shape == (1, HEADS, QUERIES, n)
