"""Where a token stands: position encodings, (length, d_model)."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

SinusoidLayout = Literal["interleaved", "halves"]


def wavelengths(d_model: int, base: float = 10_000.0) -> Tensor:
    """Positions until sine and cosine of each dimension pair repeat: 2 pi base^(2i / d_model) (section 3.5).

    Returns:
        (d_model / 2,) float64, from 2 pi up to nearly 2 pi base.
    """
    pair = torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu")
    return 2 * math.pi * base ** (pair / d_model)


def sinusoidal_encoding(
    length: int, d_model: int, base: float = 10_000.0, layout: SinusoidLayout = "interleaved"
) -> Tensor:
    """PE(pos, 2i) = sin(pos / base^(2i / d_model)), PE(pos, 2i+1) = cos of the same (paper, section 3.5).

    In the layout "halves" all sines stand before all cosines, as in Marian. Computed in float64: in float32
    the angle of position 5000 is off by 2e-4.

    Returns:
        (length, d_model) float32; d_model must be even.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]  # (length, 1)
    angle = position * (2 * math.pi / wavelengths(d_model, base))  # (length, d_model / 2)
    if layout == "halves":
        return torch.cat((angle.sin(), angle.cos()), dim=-1).float()
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2).float()


class SinusoidalPositions(nn.Module):
    """The encoding of section 3.5, made once up to max_len; nothing to learn and nothing to save."""

    encoding: Tensor

    def __init__(
        self, max_len: int, d_model: int, base: float, layout: SinusoidLayout = "interleaved"
    ) -> None:
        super().__init__()
        # Nothing to load either, so real numbers even in a skeleton on the meta device.
        with torch.device("cpu"):
            encoding = sinusoidal_encoding(max_len, d_model, base, layout)
        self.register_buffer("encoding", encoding, persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        """Encodings of the positions start, ..., start + length - 1: (length, D)."""
        return self.encoding[start : start + length]


class LearnedPositions(nn.Module):
    """One learned vector a position; the paper found it as good (table 3, row E)."""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_len, d_model))

    def forward(self, start: int, length: int) -> Tensor:
        """Vectors of the positions start, ..., start + length - 1: (length, D)."""
        return self.weight[start : start + length]
