"""Cross-entropy with label smoothing (paper, section 5.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_ROWS = 64
"""Number of tokens whose logits are processed together, few enough for a core's cache."""


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The loss and, in the same pass, its gradient: softmax(logits) - target distribution.

    The logits are the largest tensor of an update. Composed of torch operations, the loss would pass over
    them a dozen times; this passes over them once, a few rows at a time.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, smoothing: float, pad_id: int) -> Tensor:
        sums = torch.promote_types(logits.dtype, torch.float32)
        counts = (labels != pad_id)[:, None]  # (N, 1)
        # Unscaled, most gradients are too small for float16.
        kind = sums if logits.dtype == torch.float16 else logits.dtype
        gradient = torch.empty_like(logits, dtype=kind)
        losses = []
        n_rows = _ROWS if logits.device.type == "cpu" else len(logits)
        for rows in torch.arange(len(logits)).split(n_rows):
            part = slice(int(rows[0]), int(rows[-1]) + 1)
            log_p = logits[part].to(sums).log_softmax(dim=-1)  # (n, V)
            label = labels[part, None]
            wanted = (1 - smoothing) * log_p.gather(-1, label)
            if smoothing:
                wanted = wanted + smoothing * log_p.mean(dim=-1, keepdim=True)
            losses.append(torch.where(counts[part], wanted, 0.0).sum())
            slope = log_p.exp_().sub_(smoothing / logits.shape[-1])
            slope.scatter_add_(-1, label, torch.full_like(label, smoothing - 1, dtype=slope.dtype))
            gradient[part] = slope.mul_(counts[part])
        ctx.save_for_backward(gradient)
        ctx.kind = logits.dtype
        return -torch.stack(losses).sum()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors  # not used elsewhere, so it can be scaled in place
        return gradient.mul_(grads[0].to(gradient.dtype)).to(ctx.kind), None, None, None


def cross_entropy(logits: Tensor, labels: Tensor, *, smoothing: float, pad_id: int) -> Tensor:
    """Label-smoothed cross-entropy in nats, summed over all labels except padding.

    In the target distribution the label has 1 - smoothing; the rest is uniform over all V words, including
    the label. Divide by `count_labels` for the mean per token.

    Args:
        logits: (B, T, V); half precision is summed in float32.
        labels: (B, T) ids.
        smoothing: epsilon_ls, 0.1 in the paper; 0 is plain cross-entropy.
        pad_id: the label to ignore.

    Returns:
        A scalar in float32, or float64 for float64 logits.
    """
    apply: Callable[..., Tensor] = _SmoothedCrossEntropy.apply
    return apply(logits.flatten(0, -2), labels.flatten(), smoothing, pad_id)


def count_labels(labels: Tensor, *, pad_id: int) -> int:
    """The number of labels that are not padding."""
    return int((labels != pad_id).sum())
