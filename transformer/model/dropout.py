"""Dropout (paper, section 5.4): some numbers become 0 while a model is trained."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

_BITS = 16
_DRAWS_PER_WORD = 64 // _BITS
_COARSE = 0.99
"""From this p on torch's own dropout: so little is kept that steps of 2^-16 would move the mean by 0.1 % and
more, and those nearest to 1 have no 16-bit threshold."""


class Dropout(nn.Module):
    """Sets each number to 0 with probability p in training, and scales the others by 1 / (1 - p).

    On the CPU the coins are 16 random bits a number, four numbers a draw of the generator: torch's own
    dropout draws once per number, which took a sixth of a training step. p is met to 2^-17, and
    exactly from 0.99 on.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """(...) -> (...): x itself outside of training. Draws from torch's own generator."""
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu" or self.p >= _COARSE:
            return functional.dropout(x, self.p)
        words = torch.empty((x.numel() - 1) // _DRAWS_PER_WORD + 1, dtype=torch.int64).random_(-(2**63), None)
        coins = words.view(torch.int16)[: x.numel()].view(x.shape)
        kept = coins >= round(self.p * 2**_BITS) - 2 ** (_BITS - 1)
        return x * kept.to(x.dtype).mul_(1 / (1 - self.p))
