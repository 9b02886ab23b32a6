"""Relative positions as a bias of the scores (Raffel et al. 2020, arXiv:1910.10683, section 2.1)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


def distance_buckets(distances: Tensor, n_buckets: int, max_distance: int, *, both_ways: bool) -> Tensor:
    """The bucket of each distance: near ones have their own, farther ones share ever wider buckets.

    Half of the buckets are for single distances, the others grow logarithmically up to max_distance; all
    that is farther is in the last one.

    Args:
        distances: key's position minus query's, whole numbers of any shape.
        n_buckets: how many there are.
        max_distance: from it on the last bucket.
        both_ways: whether keys behind the query have the upper half of the buckets; else they all are in
            bucket 0 (a causal mask closes them).

    Returns:
        Whole numbers from 0 to n_buckets - 1, of the shape of `distances`.
    """
    if both_ways:
        n_buckets //= 2
        first, steps = n_buckets * (distances > 0), distances.abs()
    else:
        first, steps = torch.zeros_like(distances), (-distances).clamp(min=0)
    n_single = n_buckets // 2
    # In float32, as the published tables were trained: another rounding moves distances on the border.
    growth = (steps.clamp(min=1).float() / n_single).log() / math.log(max_distance / n_single)
    shared = n_single + (growth * (n_buckets - n_single)).long()
    return first + torch.where(steps < n_single, steps, shared.clamp(max=n_buckets - 1))


class RelativeBias(nn.Module):
    """A learned number for each head and bucket of distances, added to the scores of self-attention.

    One table serves all layers of a stack.
    """

    buckets: Tensor

    def __init__(self, n_heads: int, n_buckets: int, max_distance: int, *, both_ways: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_buckets, n_heads))
        self.max_distance = max_distance
        # Nothing to learn or to load, so real numbers even in a skeleton on the meta device.
        distances = torch.arange(-max_distance, max_distance + 1, device="cpu")
        buckets = distance_buckets(distances, n_buckets, max_distance, both_ways=both_ways)
        self.register_buffer("buckets", buckets, persistent=False)

    def forward(self, start: int, n_queries: int) -> Tensor:
        """(1, H, Q, K) of the Q queries from position `start` on and all keys from 0 to the last query."""
        keys = torch.arange(start + n_queries, device=self.weight.device)
        distances = keys[None, :] - keys[start:, None]  # (Q, K)
        nearer = distances.clamp(-self.max_distance, self.max_distance)
        bias = functional.embedding(self.buckets[nearer + self.max_distance], self.weight)  # (Q, K, H)
        return bias.permute(2, 0, 1)[None]
