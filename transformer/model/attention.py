"""Scaled dot-product attention (paper, section 3.2.1) and multi-head attention (section 3.2.2)."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.model.cache import KeyValueCache
from transformer.model.normalization import Norm
from transformer.model.positions import RelativeBias, Rotation, rotate
from transformer.model.trace import NO_TAP, Tap


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the unmasked keys; exactly 0 elsewhere.

    A fully masked query gets zeros: a large negative number in place of minus infinity would give uniform
    attention, minus infinity itself NaN.

    Args:
        scores: (..., Q, K).
        mask: bool, broadcasts to scores, True = may attend; None masks nothing.

    Returns:
        (..., Q, K); each row sums to 1, or to 0 if it is fully masked.
    """
    if mask is None or bool(mask.all()):
        return scores.softmax(dim=-1)
    empty = _empty_rows(mask)
    if not bool(empty.any()):  # minus infinity suffices for exact zeros
        return torch.where(mask, scores, -math.inf).softmax(dim=-1)
    weights = torch.where(mask | empty, scores, -math.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def _empty_rows(mask: Tensor) -> Tensor:
    """True for fully masked rows, (..., Q, 1).

    They are unmasked before the softmax, so that it and its gradient are finite, and set to 0 afterwards.
    """
    return ~mask.any(dim=-1, keepdim=True)


def scaled_dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    tap: Tap = NO_TAP,
    *,
    bias: Tensor | None = None,
    scale: float | None = None,
    soft_cap: float = 0.0,
) -> Tensor:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_head)) V (paper, equation 1), every step tapped.

    Args:
        q: (B, H, Q, d_head).
        k, v: (B, H, K, d_head); with fewer heads, each is shared by consecutive heads of q.
        mask: bool, broadcasts to (B, H, Q, K), True = may attend; None masks nothing.
        tap: sees position_bias, scores_uncapped (with a cap), scores (scaled, biased, capped, before the
            mask), mask, weights and z.
        bias: added to the scores, broadcasts to (B, H, Q, K).
        scale: factor of the products; 1 / sqrt(d_head) when None.
        soft_cap: c in c tanh(scores / c); 0 for none.

    Returns:
        z (B, H, Q, d_head).
    """
    if k.shape[1] < q.shape[1]:
        k, v = (heads.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for heads in (k, v))
    # Scaling the queries is cheaper than scaling the larger scores.
    queries = q / math.sqrt(q.shape[-1]) if scale is None else q * scale
    scores = queries @ k.transpose(-2, -1)  # (B, H, Q, K)
    if bias is not None:
        scores = scores + tap("position_bias", bias)
    if soft_cap:
        scores = soft_capped(tap("scores_uncapped", scores), soft_cap)
    scores = tap("scores", scores)
    if mask is not None:
        mask = tap("mask", mask)
    weights = tap("weights", masked_softmax(scores, mask))  # (B, H, Q, K)
    return tap("z", weights @ v)


def soft_capped(x: Tensor, cap: float) -> Tensor:
    """c tanh(x / c): nearly x for small x, never beyond c (Gemma Team 2024, section 2)."""
    return (x / cap).tanh() * cap


def fused_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    *,
    bias: Tensor | None = None,
    scale: float | None = None,
    soft_cap: float = 0.0,
) -> Tensor:
    """The same with torch's fused kernel, which stores neither scores nor weights; for runs without a tap.

    The kernel can't cap scores, and in bfloat16 on a CPU it takes twice as long for short sentences: in these
    cases `scaled_dot_product_attention` is used.
    """
    if soft_cap or (q.dtype == torch.bfloat16 and q.device.type == "cpu"):
        return scaled_dot_product_attention(q, k, v, mask, bias=bias, scale=scale, soft_cap=soft_cap)
    shared = k.shape[1] < q.shape[1]
    added = None if bias is None else bias.to(q.dtype)
    if mask is None:
        return functional.scaled_dot_product_attention(
            q, k, v, attn_mask=added, scale=scale, enable_gqa=shared
        )
    empty = _empty_rows(mask)
    opened = mask | empty
    attn_mask = opened if added is None else added.masked_fill(~opened, -math.inf)
    z = functional.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, scale=scale, enable_gqa=shared)
    return z.masked_fill(empty, 0.0)


class PositionInfo(NamedTuple):
    """Positional information for one layer's self-attention.

    Attributes:
        bias: (1, H, Q, K) added to the scores.
        rotation: rotation of the newest tokens' queries and keys.
    """

    bias: Tensor | None = None
    rotation: Rotation | None = None


NO_POSITIONS = PositionInfo()


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W_O (paper, section 3.2.2).

    head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i).

    Args:
        d_model: D.
        n_heads: H.
        bias: whether the four projections have a bias.
        n_kv_heads: key and value heads, each shared by H / n_kv_heads query heads; 0 for H.
        d_head: width of a head; 0 for D / H.
        scale: factor of the products; 1 / sqrt(d_head) when None.
        soft_cap: c in c tanh(scores / c); 0 for none.
        transposed: see merge_heads in `TransformerConfig`.
        q_norm, k_norm: norms of the queries and keys; None for none.
        norms_across_heads: these norms are over all heads together, not over each head's d_head.
        relative_bias: a relative bias of this attention's own; None for none.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        bias: bool,
        n_kv_heads: int = 0,
        d_head: int = 0,
        scale: float | None = None,
        soft_cap: float = 0.0,
        transposed: bool = True,
        q_norm: Norm | None = None,
        k_norm: Norm | None = None,
        norms_across_heads: bool = False,
        relative_bias: RelativeBias | None = None,
    ) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads or n_heads
        self.d_head = d_head or d_model // n_heads
        self.scale = scale
        self.soft_cap = soft_cap
        self.transposed = transposed
        self.q_norm, self.k_norm = q_norm, k_norm
        self.norms_across_heads = norms_across_heads
        self.relative_bias = relative_bias
        self.w_q = nn.Linear(d_model, self.n_heads * self.d_head, bias=bias)
        self.w_k = nn.Linear(d_model, self.n_kv_heads * self.d_head, bias=bias)
        self.w_v = nn.Linear(d_model, self.n_kv_heads * self.d_head, bias=bias)
        self.w_o = nn.Linear(self.n_heads * self.d_head, d_model, bias=bias)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        tap: Tap = NO_TAP,
        cache: KeyValueCache | None = None,
        positions: PositionInfo = NO_POSITIONS,
    ) -> Tensor:
        """Queries from x attend to keys and values from memory (x itself in self-attention).

        Args:
            x: (B, Q, D).
            memory: (B, K, D); with a cache, only the part not yet cached (K may be 0).
            mask: bool, broadcasts to (B, H, Q, K), True = may attend; None masks nothing.
            tap: sees q_norm and k_norm (B, H, T, d_head; across heads (B, T, H * d_head)), q_unrotated, q,
                k_unrotated, k, v (k and v have n_kv_heads heads), the tensors of
                `scaled_dot_product_attention`, and out, where present.
            cache: keys and values of earlier calls.
            positions: positional information, in self-attention only.

        Returns:
            (B, Q, D).
        """
        q = self._normed_heads(self.w_q(x), self.q_norm, tap.at("q_norm"))  # (B, H, Q, d_head)
        if positions.rotation is not None:
            q = rotate(tap("q_unrotated", q), positions.rotation)
        q = tap("q", q)
        k, v = self._keys_and_values(memory, tap, cache, positions)  # (B, n_kv_heads, K, d_head) each
        bias = positions.bias
        if self.relative_bias is not None:
            bias = self.relative_bias(k.shape[-2] - q.shape[-2], q.shape[-2])
        attend = fused_attention if tap is NO_TAP else partial(scaled_dot_product_attention, tap=tap)
        z = attend(q, k, v, mask, bias=bias, scale=self.scale, soft_cap=self.soft_cap)
        return tap("out", self.w_o(self.merge_heads(z)))

    def _keys_and_values(
        self, memory: Tensor, tap: Tap, cache: KeyValueCache | None, positions: PositionInfo
    ) -> tuple[Tensor, Tensor]:
        """The cached keys and values, followed by those of memory."""
        cached = None if cache is None else cache.contents()
        if cached is not None and memory.shape[1] == 0:
            return cached
        k = self._normed_heads(self.w_k(memory), self.k_norm, tap.at("k_norm"))
        if positions.rotation is not None:
            k = rotate(tap("k_unrotated", k), positions.rotation)
        k = tap("k", k)
        v = tap("v", self.split_heads(self.w_v(memory)))
        return (k, v) if cache is None else cache.extend(k, v)

    def _normed_heads(self, x: Tensor, norm: Norm | None, tap: Tap) -> Tensor:
        """Split queries or keys (B, T, H * d_head) into heads, normed before or after if there is a norm."""
        if norm is None:
            return self.split_heads(x)
        return self.split_heads(norm(x, tap)) if self.norms_across_heads else norm(self.split_heads(x), tap)

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, T, H * d_head) -> (B, H, T, d_head): head h gets columns h * d_head to (h + 1) * d_head - 1."""
        return torch.unflatten(x, -1, (-1, self.d_head)).transpose(1, 2)

    def merge_heads(self, z: Tensor) -> Tensor:
        """(B, H, T, d_head) -> (B, T, H * d_head): the inverse of `split_heads` if transposed."""
        if not self.transposed:
            return z.reshape(z.shape[0], z.shape[2], self.n_heads * self.d_head)
        return z.transpose(1, 2).flatten(-2)
