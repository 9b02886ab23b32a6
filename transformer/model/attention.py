"""Attention: the pure function of section 3.2.1, then the module with its heads of section 3.2.2."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.model.cache import KeyValueCache
from transformer.model.normalization import Norm
from transformer.model.positions import Rotation, rotate
from transformer.model.trace import NO_TAP, Tap


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
    if mask is None or bool(mask.all()):
        return scores.softmax(dim=-1)
    empty = _empty_rows(mask)
    if not bool(empty.any()):  # then minus infinity makes zeros, and none has to be written
        return torch.where(mask, scores, -math.inf).softmax(dim=-1)
    weights = torch.where(mask | empty, scores, -math.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def _empty_rows(mask: Tensor) -> Tensor:
    """Which rows are closed throughout: (..., Q, 1).

    They are opened before a softmax, so that it and its gradient exist, and their output is set to zero.
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
        k: (B, H, K, d_head); of fewer heads, each is shared by as many neighbouring heads of q.
        v: as k.
        mask: bool, broadcasts to (B, H, Q, K), True = may attend; None opens every cell.
        tap: sees position_bias, scores (what enters the softmax: scaled, biased, capped, before the mask),
            mask, weights and z; where there is a cap, before them scores_uncapped.
        bias: added to the scores, broadcasts to (B, H, Q, K).
        scale: what the products are multiplied by; 1 / sqrt(d_head) when None.
        soft_cap: c of c tanh(scores / c); 0 for none.

    Returns:
        z (B, H, Q, d_head).
    """
    if k.shape[1] < q.shape[1]:
        k, v = (heads.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for heads in (k, v))
    # There are fewer of the queries' numbers than of scores.
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
    """c tanh(x / c): small numbers stay nearly as they are, none passes c (Gemma Team 2024, section 2)."""
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
    """The same function by torch's fused kernel, which keeps no scores and no weights: for untapped runs.

    That kernel can't cap scores; and for short sentences in bfloat16 on a CPU it takes twice as long as the
    function above.
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
    kept = opened if added is None else added.masked_fill(~opened, -math.inf)
    z = functional.scaled_dot_product_attention(q, k, v, attn_mask=kept, scale=scale, enable_gqa=shared)
    return z.masked_fill(empty, 0.0)


class PositionInfo(NamedTuple):
    """What a layer's self-attention itself is told of where its tokens are.

    Attributes:
        bias: (1, H, Q, K), added to the scores.
        rotation: by which queries and keys of the newest tokens are turned.
    """

    bias: Tensor | None = None
    rotation: Rotation | None = None


NO_POSITIONS = PositionInfo()


class MultiHeadAttention(nn.Module):
    """H attentions in parallel, each in a d_head-wide projection of its own (paper, section 3.2.2).

    MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W_O, head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i).

    Args:
        d_model: D.
        n_heads: H.
        bias: whether the four projections have one.
        n_kv_heads: heads of keys and values, each shared by H / n_kv_heads heads of queries; H when 0.
        d_head: width of a head; D / H when 0.
        scale: what products are multiplied by; 1 / sqrt(d_head) when None.
        soft_cap: c of c tanh(scores / c); 0 for none.
        transposed: whether heads are transposed back before they are merged; see `TransformerConfig`.
        q_norm, k_norm: norms over d_head of each head's queries and keys, one for all heads; None for none.
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
    ) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads or n_heads
        self.d_head = d_head or d_model // n_heads
        self.scale = scale
        self.soft_cap = soft_cap
        self.transposed = transposed
        self.q_norm, self.k_norm = q_norm, k_norm
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
        """Queries from x look at keys and values from memory (x itself in self-attention).

        Args:
            x: (B, Q, D).
            memory: (B, K, D); with a cache, the part of it that the cache does not hold yet (K may be 0).
            mask: bool, broadcasts to (B, H, Q, K), True = may attend.
            tap: sees q, k, v (k and v of n_kv_heads heads), scores, mask, weights, z and out; where there is
                a soft cap, scores_uncapped; where there are such positions, q_unrotated and k_unrotated, or
                position_bias; where there are such norms, what they show under q_norm and k_norm,
                (B, H, T, d_head).
            cache: keys and values of what memory held in earlier calls.
            positions: where the tokens are; in self-attention only.

        Returns:
            (B, Q, D).
        """
        q = self.split_heads(self.w_q(x))  # (B, H, Q, d_head)
        if self.q_norm is not None:
            q = self.q_norm(q, tap.at("q_norm"))
        if positions.rotation is not None:
            q = rotate(tap("q_unrotated", q), positions.rotation)
        q = tap("q", q)
        k, v = self._keys_and_values(memory, tap, cache, positions)  # (B, n_kv_heads, K, d_head) each
        attend = fused_attention if tap is NO_TAP else partial(scaled_dot_product_attention, tap=tap)
        z = attend(q, k, v, mask, bias=positions.bias, scale=self.scale, soft_cap=self.soft_cap)
        return tap("out", self.w_o(self.merge_heads(z)))

    def _keys_and_values(
        self, memory: Tensor, tap: Tap, cache: KeyValueCache | None, positions: PositionInfo
    ) -> tuple[Tensor, Tensor]:
        """Those of memory, after those of the cache."""
        kept = None if cache is None else cache.contents()
        if kept is not None and memory.shape[1] == 0:
            return kept
        k = self.split_heads(self.w_k(memory))
        if self.k_norm is not None:
            k = self.k_norm(k, tap.at("k_norm"))
        if positions.rotation is not None:
            k = rotate(tap("k_unrotated", k), positions.rotation)
        k = tap("k", k)
        v = tap("v", self.split_heads(self.w_v(memory)))
        return (k, v) if cache is None else cache.extend(k, v)

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, T, H * d_head) -> (B, H, T, d_head): head h reads columns h * d_head up to (h + 1) * d_head."""
        return torch.unflatten(x, -1, (-1, self.d_head)).transpose(1, 2)

    def merge_heads(self, z: Tensor) -> Tensor:
        """(B, H, T, d_head) -> (B, T, H * d_head): the inverse of `split_heads`, if transposed."""
        if not self.transposed:
            return z.reshape(z.shape[0], z.shape[2], self.n_heads * self.d_head)
        return z.transpose(1, 2).flatten(-2)
