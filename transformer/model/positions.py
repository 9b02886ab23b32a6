"""Positional information: added to the embeddings, or used by attention itself.

Sinusoidal (paper, section 3.5) and learned encodings, (length, d_model), are added; rotary positions (Su et
al. 2021, arXiv:2104.09864) rotate queries and keys; relative positions (Raffel et al. 2020, arXiv:1910.10683,
section 2.1) and ALiBi (Press et al. 2022, arXiv:2108.12409) add a bias to the scores.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.model.config import SinusoidLayout, TransformerConfig


def wavelengths(d_model: int, base: float = 10_000.0, layout: SinusoidLayout = "interleaved") -> Tensor:
    """The period of each dimension pair, in positions: 2 pi base^(2i / d_model) (section 3.5).

    In the layout "halves_to_base" it is 2 pi base^(i / (d_model / 2 - 1)).

    Returns:
        (d_model / 2,) float64, from 2 pi to almost 2 pi base; "halves_to_base": to exactly 2 pi base.
    """
    pair = torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu")
    last = max(d_model - 2, 1) if layout == "halves_to_base" else d_model
    return 2 * math.pi * base ** (pair / last)


def sinusoidal_encoding(
    length: int,
    d_model: int,
    base: float = 10_000.0,
    layout: SinusoidLayout = "interleaved",
    start: int = 0,
) -> Tensor:
    """PE(pos, 2i) = sin(pos / base^(2i / d_model)), PE(pos, 2i+1) = cos of the same (paper, section 3.5).

    In the layouts "halves" (Marian) and "halves_to_base" all sines come before all cosines. Computed in
    float64: in float32 the angle of position 5000 is off by 2e-4.

    Returns:
        (length, d_model) float32 for the positions from `start` on; d_model must be even.
    """
    position = torch.arange(start, start + length, dtype=torch.float64)[:, None]  # (length, 1)
    angle = position * (2 * math.pi / wavelengths(d_model, base, layout))  # (length, d_model / 2)
    if layout != "interleaved":
        return torch.cat((angle.sin(), angle.cos()), dim=-1).float()
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2).float()


def encoding_of(config: TransformerConfig, length: int) -> Tensor:
    """A model's sinusoidal encoding of the first `length` tokens: (length, embedding_width)."""
    return sinusoidal_encoding(
        length,
        config.embedding_width,
        config.position_base,
        config.sinusoid_layout,
        config.position_offset,
    )


class SinusoidalPositions(nn.Module):
    """The sinusoidal encoding (paper, section 3.5), computed once up to max_len."""

    encoding: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        with torch.device("cpu"):  # never loaded, so a model on the meta device needs it too
            encoding = encoding_of(config, config.max_len)
        self.register_buffer("encoding", encoding, persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        """Encodings of the positions start, ..., start + length - 1: (length, D)."""
        return self.encoding[start : start + length]


class LearnedPositions(nn.Module):
    """One learned vector per position; nearly the same quality in the paper (table 3, row E)."""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_len, d_model))

    def forward(self, start: int, length: int) -> Tensor:
        """Encodings of the positions start, ..., start + length - 1: (length, D)."""
        return self.weight[start : start + length]


class Rotation(NamedTuple):
    """Cosines and sines of the angles, (T, pairs) each; dimensions beyond these pairs are not rotated."""

    cos: Tensor
    sin: Tensor


def rotary_wavelengths(config: TransformerConfig, base: float = 0) -> Tensor:
    """Wavelength of each pair of a head, in positions: 2 pi base^(2i / d_head), stretched if configured.

    rotary_dims replaces d_head if only part of a head is rotated. From config.stretch_full on, the frequency
    1 / wavelength is divided by config.rotary_stretch; up to config.stretch_start it is unchanged; between
    the two it is interpolated linearly ("NTK by parts", Peng et al. 2023, arXiv:2309.00071, section 3.2).

    Args:
        config: the model's configuration.
        base: the layer's base; config.position_base if 0. Only that base is stretched.

    Returns:
        (d_head / 2,) float64.
    """
    base = base or config.position_base
    trained = wavelengths(config.rotary_dims or config.d_head, base)
    stretch, start, full = config.rotary_stretch, config.stretch_start, config.stretch_full
    if stretch == 1 or base != config.position_base:
        return trained
    if start == full:
        kept = (trained < full).double()
    else:
        kept = ((1 / trained - 1 / full) / (1 / start - 1 / full)).clamp(0, 1)
    # 1 / ((1 - kept) / stretch + kept), written so that an unstretched wavelength is bit-identical.
    return trained * (stretch / ((1 - kept) + kept * stretch))


def rotation(start: int, length: int, wavelengths: Tensor, like: Tensor) -> Rotation:
    """The rotation by 2 pi position / wavelength for the positions start, ..., start + length - 1.

    Computed in float64: in float32 the angle of position 5000 is off by 2e-4.

    Args:
        start: the first position.
        length: T.
        wavelengths: (pairs,) float64.
        like: a tensor with the device and dtype of the result.
    """
    position = torch.arange(start, start + length, dtype=torch.float64)[:, None]  # (T, 1)
    angle = position * (2 * math.pi / wavelengths)  # (T, pairs)
    return Rotation(*(part.to(like.dtype).to(like.device) for part in (angle.cos(), angle.sin())))


def rotate(x: Tensor, by: Rotation) -> Tensor:
    """Rotate the first pairs (2i, 2i + 1) of queries or keys (B, H, T, d_head), one pair per angle."""
    width = 2 * by.cos.shape[-1]
    even, odd = x[..., :width:2], x[..., 1:width:2]
    rotated = torch.stack((even * by.cos - odd * by.sin, even * by.sin + odd * by.cos), dim=-1).flatten(-2)
    return rotated if width == x.shape[-1] else torch.cat((rotated, x[..., width:]), dim=-1)


def distance_buckets(distances: Tensor, n_buckets: int, max_distance: int, *, both_ways: bool) -> Tensor:
    """The bucket of each distance; far distances share buckets, which get wider with distance.

    Half of the buckets are for single distances; the others grow logarithmically up to max_distance.

    Args:
        distances: key position minus query position, integers of any shape.
        n_buckets: number of buckets.
        max_distance: distances from this one on are in the last bucket.
        both_ways: keys after the query use the upper half of the buckets; otherwise they are all in bucket 0,
            since a causal mask hides them.

    Returns:
        Integers from 0 to n_buckets - 1, in the shape of `distances`.
    """
    if both_ways:
        n_buckets //= 2
        first, steps = n_buckets * (distances > 0), distances.abs()
    else:
        first, steps = torch.zeros_like(distances), (-distances).clamp(min=0)
    n_single = n_buckets // 2
    # In float32, as when the published models were trained: other rounding would move borderline distances.
    growth = (steps.clamp(min=1).float() / n_single).log() / math.log(max_distance / n_single)
    shared = n_single + (growth * (n_buckets - n_single)).long()
    return first + torch.where(steps < n_single, steps, shared.clamp(max=n_buckets - 1))


class RelativeBias(nn.Module):
    """A learned bias per head and distance bucket for the scores of self-attention."""

    buckets: Tensor

    def __init__(self, n_heads: int, n_buckets: int, max_distance: int, *, both_ways: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_buckets, n_heads))
        self.max_distance = max_distance
        # Never loaded, so a model on the meta device needs them too.
        distances = torch.arange(-max_distance, max_distance + 1, device="cpu")
        buckets = distance_buckets(distances, n_buckets, max_distance, both_ways=both_ways)
        self.register_buffer("buckets", buckets, persistent=False)

    def forward(self, start: int, n_queries: int) -> Tensor:
        """(1, H, Q, K) for the Q queries from position `start` on and all keys up to the last query."""
        keys = torch.arange(start + n_queries, device=self.weight.device)
        distances = keys[None, :] - keys[start:, None]  # (Q, K)
        clamped = distances.clamp(-self.max_distance, self.max_distance)
        bias = functional.embedding(self.buckets[clamped + self.max_distance], self.weight)  # (Q, K, H)
        return bias.permute(2, 0, 1)[None]


def relative_bias_of(config: TransformerConfig, *, both_ways: bool) -> RelativeBias:
    """A new relative bias, for a stack or, if each layer has its own, for one layer."""
    return RelativeBias(
        config.n_heads, config.n_position_buckets, config.max_position_distance, both_ways=both_ways
    )


def alibi_slopes(n_heads: int) -> Tensor:
    """The slope of each head, (H,): 2^(-8 / H), 2^(-16 / H), ..., 2^-8 (arXiv:2108.12409, section 3).

    If H is not a power of two, the heads beyond the largest power of two in it get every other slope of
    twice that many heads, as in the published code.
    """
    power = 1 << (n_heads.bit_length() - 1)
    exponents = [8 * head / power for head in range(1, power + 1)]
    exponents += [4 * head / power for head in range(1, 2 * (n_heads - power), 2)]
    return 2.0 ** -torch.tensor(exponents, device="cpu")


class LinearBias(nn.Module):
    """ALiBi: minus slope times distance, added to the scores of self-attention; nothing is learned.

    Press et al. 2022, arXiv:2108.12409, section 3. In an encoder, keys after the query have distances too
    (Günther et al. 2023, arXiv:2310.19923, section 3.1).
    """

    slopes: Tensor

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", alibi_slopes(n_heads), persistent=False)

    def forward(self, start: int, n_queries: int) -> Tensor:
        """(1, H, Q, K) for the Q queries from position `start` on and all keys up to the last query."""
        keys = torch.arange(start + n_queries, device=self.slopes.device)
        distances = (keys[None, :] - keys[start:, None]).abs()  # (Q, K)
        return (-self.slopes[:, None, None] * distances)[None]
