"""Layer normalization (Ba et al. 2016, arXiv:1607.06450)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.trace import NO_TAP, Tap


class LayerNorm(nn.Module):
    """gamma * (x - mean) / sqrt(variance + eps) + beta, over the D numbers of each token by itself.

    The variance is the biased one (divided by D, not D - 1).
    """

    def __init__(self, d_model: int, eps: float) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """Normalize each token: (B, T, D) -> (B, T, D).

        The tap sees input (B, T, D), mean (B, T, 1), scale (B, T, 1: the deviation, eps included), normalized
        (B, T, D: before gamma and beta) and result (B, T, D).
        """
        if tap is NO_TAP:
            return functional.layer_norm(x, self.gamma.shape, self.gamma, self.beta, self.eps)
        x = tap("input", x)
        mean = tap("mean", x.mean(dim=-1, keepdim=True))
        scale = tap("scale", (x.var(dim=-1, keepdim=True, correction=0) + self.eps).sqrt())
        normalized = tap("normalized", (x - mean) / scale)
        return tap("result", self.gamma * normalized + self.beta)
