"""Norms over the features of each token."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.model.config import TransformerConfig
from transformer.model.trace import NO_TAP, Tap


def per_token(weight: Tensor) -> Tensor:
    """A norm's gamma or beta for the tokens of its input: (D,) -> (1, D); (H, d_head) -> (H, 1, d_head)."""
    return weight[..., None, :]


class LayerNorm(nn.Module):
    """gamma * (x - mean) / sqrt(variance + eps) + beta, over the D features of each token.

    The variance is biased (divided by D, not D - 1). Ba et al. 2016, arXiv:1607.06450.
    """

    def __init__(self, shape: int | tuple[int, int], eps: float) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(shape))
        self.beta = nn.Parameter(torch.zeros(shape))
        self.eps = eps

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, T, D) -> (B, T, D).

        The tap sees input (B, T, D), mean (B, T, 1), scale (B, T, 1: the standard deviation with eps),
        normalized (B, T, D: before gamma and beta) and result (B, T, D).
        """
        if tap is NO_TAP and self.gamma.dim() == 1:
            return functional.layer_norm(x, self.gamma.shape, self.gamma, self.beta, self.eps)
        x = tap("input", x)
        normalized, own_mean, inverse = torch.native_layer_norm(x, x.shape[-1:], None, None, self.eps)
        own_scale = inverse.reciprocal()
        mean, scale = tap("mean", own_mean), tap("scale", own_scale)
        if mean is not own_mean or scale is not own_scale:  # changed by the tap
            normalized = (x - mean) / scale
        normalized = tap("normalized", normalized)
        return tap("result", (per_token(self.gamma) * normalized).add_(per_token(self.beta)))


class UnbiasedLayerNorm(nn.Module):
    """gamma * (x - mean) / (std + eps) + beta, with the unbiased standard deviation (divided by D - 1).

    The LayerNorm of the Annotated Transformer (Rush et al. 2018, nlp.seas.harvard.edu/annotated-transformer)
    and the many implementations that copied it.
    """

    def __init__(self, shape: int | tuple[int, int], eps: float) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(shape))
        self.beta = nn.Parameter(torch.zeros(shape))
        self.eps = eps

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, T, D) -> (B, T, D). The tap sees the same tensors as in LayerNorm."""
        x = tap("input", x)
        mean = tap("mean", x.mean(dim=-1, keepdim=True))
        scale = tap("scale", x.std(dim=-1, keepdim=True) + self.eps)
        normalized = tap("normalized", (x - mean) / scale)
        return tap("result", per_token(self.gamma) * normalized + per_token(self.beta))


class RMSNorm(nn.Module):
    """gamma * x / sqrt(mean of x^2 + eps) (Zhang and Sennrich 2019, arXiv:1910.07467)."""

    def __init__(self, shape: int | tuple[int, int], eps: float) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(shape))
        self.eps = eps

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, T, D) -> (B, T, D).

        The tap sees input (B, T, D), scale (B, T, 1: the root mean square with eps), normalized (B, T, D:
        before gamma) and result (B, T, D).
        """
        if tap is NO_TAP and self.gamma.dim() == 1:
            return functional.rms_norm(x, self.gamma.shape, self.gamma, self.eps)
        x = tap("input", x)
        scale = tap("scale", (x.square().mean(dim=-1, keepdim=True) + self.eps).sqrt())
        normalized = tap("normalized", x / scale)
        return tap("result", per_token(self.gamma) * normalized)


Norm = LayerNorm | UnbiasedLayerNorm | RMSNorm

_NORMS: dict[str, type[Norm]] = {"layer": LayerNorm, "layer_unbiased": UnbiasedLayerNorm, "rms": RMSNorm}


def norm_of(config: TransformerConfig, shape: int | tuple[int, int] = 0) -> Norm:
    """A new norm over `shape` features, d_model if 0; for (H, d_head), over d_head with weights per head."""
    return _NORMS[config.norm](shape or config.d_model, config.norm_eps)


def head_norm_of(config: TransformerConfig, n_heads: int) -> Norm | None:
    """A new norm of the queries or keys of n_heads heads, if the model has any."""
    if not config.query_key_norm:
        return None
    if config.query_key_norm == "each_head":
        return norm_of(config, (n_heads, config.d_head))
    return norm_of(config, config.d_head * (n_heads if config.query_key_norm == "across_heads" else 1))
