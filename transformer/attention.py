"""Attention: the pure function of section 3.2.1, then the module with its heads of section 3.2.2."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.cache import KeyValueCache
from transformer.trace import NO_TAP, Tap


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the keys that may be looked at; exactly 0 elsewhere.

    A query that may look at nothing gets zeros: a finite stand-in for minus infinity would give it uniform
    attention, minus infinity itself NaN.

    Args:
        scores: (..., Q, K).
        mask: bool, broadcasts to scores, True = may attend; None opens every cell.

    Returns:
        (..., Q, K), each row sums to 1, or to 0 where nothing is open.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    weights = scores.masked_fill(~open_empty_rows(mask), -math.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def open_empty_rows(mask: Tensor) -> Tensor:
    """The mask with every row that is closed throughout opened, so that its softmax and its gradient exist.

    What comes out of such a row is to be zeroed afterwards.
    """
    return mask | ~mask.any(dim=-1, keepdim=True)


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, tap: Tap = NO_TAP
) -> Tensor:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_head)) V (paper, equation 1), every step tapped.

    Args:
        q: (B, H, Q, d_head).
        k: (B, H, K, d_head).
        v: (B, H, K, d_head).
        mask: bool, broadcasts to (B, H, Q, K), True = may attend; None opens every cell.
        tap: sees scores (scaled, before the mask), mask, weights and z.

    Returns:
        z (B, H, Q, d_head).
    """
    scores = tap("scores", q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]))  # (B, H, Q, K)
    if mask is not None:
        mask = tap("mask", mask)
    weights = tap("weights", masked_softmax(scores, mask))  # (B, H, Q, K)
    return tap("z", weights @ v)


def fused_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """The same function by torch's fused kernel, which keeps no scores and no weights: for untapped runs.

    For short sentences in bfloat16 on a CPU that kernel takes twice as long as the function above.
    """
    if q.dtype == torch.bfloat16 and q.device.type == "cpu":
        return scaled_dot_product_attention(q, k, v, mask)
    if mask is None:
        return functional.scaled_dot_product_attention(q, k, v)
    empty = ~mask.any(dim=-1, keepdim=True)
    z = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask | empty)
    return z.masked_fill(empty, 0.0)


class MultiHeadAttention(nn.Module):
    """H attentions in parallel, each in a d_head-wide projection of its own (paper, section 3.2.2).

    MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W_O, head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i).
    """

    def __init__(self, d_model: int, n_heads: int, *, bias: bool) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        tap: Tap = NO_TAP,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Queries from x look at keys and values from memory (x itself in self-attention).

        Args:
            x: (B, Q, D).
            memory: (B, K, D); with a cache, the part of it that the cache does not hold yet (K may be 0).
            mask: bool, broadcasts to (B, H, Q, K), True = may attend.
            tap: sees q, k, v, scores, mask, weights, z and out.
            cache: keys and values of what memory held in earlier calls.

        Returns:
            (B, Q, D).
        """
        q = tap("q", self.split_heads(self.w_q(x)))  # (B, H, Q, d_head)
        k, v = self._keys_and_values(memory, tap, cache)  # (B, H, K, d_head) each
        if tap is NO_TAP:
            z = fused_attention(q, k, v, mask)
        else:
            z = scaled_dot_product_attention(q, k, v, mask, tap)
        return tap("out", self.w_o(self.merge_heads(z)))

    def _keys_and_values(
        self, memory: Tensor, tap: Tap, cache: KeyValueCache | None
    ) -> tuple[Tensor, Tensor]:
        """Those of memory, behind those of the cache."""
        kept = None if cache is None else cache.contents()
        if kept is not None and memory.shape[1] == 0:
            return kept
        k = tap("k", self.split_heads(self.w_k(memory)))
        v = tap("v", self.split_heads(self.w_v(memory)))
        return (k, v) if cache is None else cache.extend(k, v)

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, H, T, d_head): head h reads columns h * d_head up to (h + 1) * d_head."""
        return torch.unflatten(x, -1, (self.n_heads, x.shape[-1] // self.n_heads)).transpose(1, 2)

    def merge_heads(self, z: Tensor) -> Tensor:
        """(B, H, T, d_head) -> (B, T, D): the inverse of `split_heads`."""
        return z.transpose(1, 2).flatten(-2)
