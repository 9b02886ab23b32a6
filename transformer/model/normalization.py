"""Norms over the features of each token."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.model.config import TransformerConfig
from transformer.model.trace import NO_TAP, Tap


class LayerNorm(nn.Module):
    """gamma * (x - mean) / sqrt(variance + eps) + beta, over the D features of each token.

    The variance is biased (divided by D, not D - 1). Ba et al. 2016, arXiv:1607.06450.
    """

    def __init__(self, d_model: int, eps: float) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, T, D) -> (B, T, D).

        The tap sees input (B, T, D), mean (B, T, 1), scale (B, T, 1: the standard deviation with eps),
        normalized (B, T, D: before gamma and beta) and result (B, T, D).
        """
        if tap is NO_TAP:
            return functional.layer_norm(x, self.gamma.shape, self.gamma, self.beta, self.eps)
        x = tap("input", x)
        normalized, own_mean, inverse = torch.native_layer_norm(x, self.gamma.shape, None, None, self.eps)
        own_scale = inverse.reciprocal()
        mean, scale = tap("mean", own_mean), tap("scale", own_scale)
        if mean is not own_mean or scale is not own_scale:  # changed by the tap
            normalized = (x - mean) / scale
        normalized = tap("normalized", normalized)
        return tap("result", (self.gamma * normalized).add_(self.beta))


class UnbiasedLayerNorm(nn.Module):
    """gamma * (x - mean) / (std + eps) + beta, with the unbiased standard deviation (divided by D - 1).

    The LayerNorm of the Annotated Transformer (Rush et al. 2018, nlp.seas.harvard.edu/annotated-transformer)
    and the many implementations that copied it.
    """

    def __init__(self, d_model: int, eps: float) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, T, D) -> (B, T, D). The tap sees the same tensors as in LayerNorm."""
        x = tap("input", x)
        mean = tap("mean", x.mean(dim=-1, keepdim=True))
        scale = tap("scale", x.std(dim=-1, keepdim=True) + self.eps)
        normalized = tap("normalized", (x - mean) / scale)
        return tap("result", self.gamma * normalized + self.beta)


class RMSNorm(nn.Module):
    """gamma * x / sqrt(mean of x^2 + eps) (Zhang and Sennrich 2019, arXiv:1910.07467)."""

    def __init__(self, d_model: int, eps: float) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, T, D) -> (B, T, D).

        The tap sees input (B, T, D), scale (B, T, 1: the root mean square with eps), normalized (B, T, D:
        before gamma) and result (B, T, D).
        """
        if tap is NO_TAP:
            return functional.rms_norm(x, self.gamma.shape, self.gamma, self.eps)
        x = tap("input", x)
        scale = tap("scale", (x.square().mean(dim=-1, keepdim=True) + self.eps).sqrt())
        normalized = tap("normalized", x / scale)
        return tap("result", self.gamma * normalized)


Norm = LayerNorm | UnbiasedLayerNorm | RMSNorm

_NORMS: dict[str, type[Norm]] = {"layer": LayerNorm, "layer_unbiased": UnbiasedLayerNorm, "rms": RMSNorm}


def norm_of(config: TransformerConfig, width: int = 0) -> Norm:
    """A new norm over `width` features, or over d_model if 0."""
    return _NORMS[config.norm](width or config.d_model, config.norm_eps)
