"""Which query may look at which key. Boolean, True = may attend; shapes broadcast to (B, H, Q, K)."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Open for words, closed for the padding that fills up short sentences.

    Args:
        ids: (B, K) token ids of the keys.
        pad_id: the id of padding.

    Returns:
        (B, 1, 1, K) bool.
    """
    return (ids != pad_id)[:, None, None, :]


def causal_mask(n_queries: int, n_keys: int | None = None, device: torch.device | None = None) -> Tensor:
    """Open for a position and those before it, closed for what comes later (paper, section 3.2.3).

    The last query is aligned with the last key, so that a decoder that is fed one token at a time and keeps
    the earlier keys asks for `causal_mask(1, n_keys)`.

    Args:
        n_queries: Q.
        n_keys: K, at least Q; Q itself when left out.
        device: where the mask lives.

    Returns:
        (1, 1, Q, K) bool.
    """
    n_keys = n_queries if n_keys is None else n_keys
    query = torch.arange(n_keys - n_queries, n_keys, device=device)[:, None]
    key = torch.arange(n_keys, device=device)[None, :]
    return (key <= query)[None, None]
