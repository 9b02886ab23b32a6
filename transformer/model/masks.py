"""Attention masks: boolean, True = may attend; shapes broadcast to (B, H, Q, K)."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Masks padding: key ids (B, K) -> (B, 1, 1, K) bool."""
    return (ids != pad_id)[:, None, None, :]


def causal_mask(n_queries: int, n_keys: int | None = None, device: torch.device | None = None) -> Tensor:
    """Masks later positions for each query (paper, section 3.2.3).

    The last query is aligned with the last key: a decoder that reads one token at a time, with earlier keys
    cached, needs `causal_mask(1, n_keys)`.

    Args:
        n_queries: Q.
        n_keys: K, at least Q; by default Q.
        device: device of the mask.

    Returns:
        (1, 1, Q, K) bool.
    """
    return _steps_back(n_queries, n_queries if n_keys is None else n_keys, device) >= 0


def local_mask(
    window: int, n_queries: int, n_keys: int | None = None, device: torch.device | None = None
) -> Tensor:
    """Masks keys that are `window` or more positions away, before or after (arXiv:2004.05150, section 3.1).

    Aligned and shaped like `causal_mask`.
    """
    return _steps_back(n_queries, n_queries if n_keys is None else n_keys, device).abs() < window


def _steps_back(n_queries: int, n_keys: int, device: torch.device | None) -> Tensor:
    """How far before its query each key is, (1, 1, Q, K); the last query is at the last key."""
    query = torch.arange(n_keys - n_queries, n_keys, device=device)[:, None]
    return (query - torch.arange(n_keys, device=device))[None, None]
