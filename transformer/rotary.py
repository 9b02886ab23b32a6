"""Rotary positions (Su et al. 2021, arXiv:2104.09864): queries and keys are turned by where they stand.

Each pair of numbers of a head is turned by an angle in proportion to the position, so that the product of a
query and a key depends on how far apart they stand.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.config import TransformerConfig
from transformer.positions import wavelengths


class Rotation(NamedTuple):
    """Cosines and sines of the angles, (T, d_head / 2) each."""

    cos: Tensor
    sin: Tensor


def rotary_wavelengths(config: TransformerConfig) -> Tensor:
    """Positions until each pair of a head has turned once: 2 pi base^(2i / d_head), stretched if so said.

    From config.stretch_full on the speed 1 / wavelength is divided by config.rotary_stretch, up to
    config.stretch_start it stays, and between the two it is mixed, in proportion to the speed ("NTK by
    parts", Peng et al. 2023, arXiv:2309.00071, section 3.2).

    Returns:
        (d_head / 2,) float64.
    """
    trained = wavelengths(config.d_head, config.position_base)
    stretch, start, full = config.rotary_stretch, config.stretch_start, config.stretch_full
    if stretch == 1:
        return trained
    if start == full:
        kept = (trained < full).double()
    else:
        kept = ((1 / trained - 1 / full) / (1 / start - 1 / full)).clamp(0, 1)
    # 1 / ((1 - kept) / stretch + kept), so that a wavelength that stays is the same to the bit.
    return trained * (stretch / ((1 - kept) + kept * stretch))


def rotation(start: int, length: int, wavelengths: Tensor, like: Tensor) -> Rotation:
    """The angles 2 pi position / wavelength of the positions start, ..., start + length - 1.

    Computed in float64: in float32 the angle of position 5000 is off by 2e-4.

    Args:
        start: the first position.
        length: T, how many there are.
        wavelengths: (d_head / 2,) positions until each pair has turned once, float64.
        like: a tensor whose device and dtype the numbers get.
    """
    position = torch.arange(start, start + length, dtype=torch.float64)[:, None]  # (T, 1)
    angle = position * (2 * math.pi / wavelengths)  # (T, d_head / 2)
    return Rotation(*(part.to(like.dtype).to(like.device) for part in (angle.cos(), angle.sin())))


def rotate(x: Tensor, by: Rotation) -> Tensor:
    """Turn the pairs (2i, 2i + 1) of queries or keys (B, H, T, d_head) by their angles."""
    even, odd = x[..., ::2], x[..., 1::2]
    turned = (even * by.cos - odd * by.sin, even * by.sin + odd * by.cos)
    return torch.stack(turned, dim=-1).flatten(-2)
