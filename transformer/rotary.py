"""Rotary positions (Su et al. 2021, arXiv:2104.09864): queries and keys are turned by where they stand.

Each pair of numbers of a head is turned by an angle in proportion to the position, so that the product of a
query and a key depends on how far apart they stand.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.positions import wavelengths


class Rotation(NamedTuple):
    """Cosines and sines of the angles, (T, d_head / 2) each."""

    cos: Tensor
    sin: Tensor


def rotation(start: int, length: int, d_head: int, base: float, like: Tensor) -> Rotation:
    """The angles position / base^(2i / d_head) of the positions start, ..., start + length - 1.

    Computed in float64: in float32 the angle of position 5000 is off by 2e-4.

    Args:
        start: the first position.
        length: T, how many there are.
        d_head: width of a head, even.
        base: of the wavelengths.
        like: a tensor whose device and dtype the numbers get.
    """
    position = torch.arange(start, start + length, dtype=torch.float64)[:, None]  # (T, 1)
    angle = position * (2 * math.pi / wavelengths(d_head, base))  # (T, d_head / 2)
    return Rotation(*(part.to(like.dtype).to(like.device) for part in (angle.cos(), angle.sin())))


def rotate(x: Tensor, by: Rotation) -> Tensor:
    """Turn the pairs (2i, 2i + 1) of queries or keys (B, H, T, d_head) by their angles."""
    even, odd = x[..., ::2], x[..., 1::2]
    turned = (even * by.cos - odd * by.sin, even * by.sin + odd * by.cos)
    return torch.stack(turned, dim=-1).flatten(-2)
