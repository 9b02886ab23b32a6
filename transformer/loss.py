"""Cross-entropy with label smoothing (paper, section 5.4)."""

from __future__ import annotations

import torch
from torch import Tensor


def cross_entropy(logits: Tensor, labels: Tensor, *, smoothing: float, pad_id: int) -> Tensor:
    """Measure how far predictions are from the labels, summed over all labels but padding.

    The label's share of the wanted distribution is 1 - smoothing; the rest is spread evenly over all V words,
    the label among them. Divide by `count_labels` for the mean of a token, in nats.

    Args:
        logits: (B, T, V).
        labels: (B, T) ids.
        smoothing: epsilon_ls, 0.1 in the paper; 0 is plain cross-entropy.
        pad_id: the label that counts for nothing.

    Returns:
        a scalar.
    """
    normalizer = logits.logsumexp(dim=-1)  # (B, T); a log-probability is a logit less this
    of_label = logits.gather(-1, labels[..., None])[..., 0]
    wanted = (1 - smoothing) * of_label + smoothing * logits.mean(dim=-1) - normalizer
    return -torch.where(labels == pad_id, 0.0, wanted).sum()


def count_labels(labels: Tensor, *, pad_id: int) -> int:
    """Count the labels that are no padding."""
    return int((labels != pad_id).sum())
