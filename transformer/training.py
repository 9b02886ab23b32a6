"""Training as a generator of steps: the command line prints them, a page draws them, a test counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import nn

from transformer.data import Batch
from transformer.loss import count_labels, cross_entropy
from transformer.model import Transformer


@dataclass(frozen=True)
class TrainingStep:
    """What one update did.

    Attributes:
        step: from 1.
        loss: mean over the batch's labels before the update, in nats, with label smoothing.
        n_tokens: labels of the batch.
        learning_rate: of this update.
        gradient_norm: before it was clipped.
    """

    step: int
    loss: float
    n_tokens: int
    learning_rate: float
    gradient_norm: float


def train(
    model: Transformer,
    batches: Iterable[Batch],
    *,
    rate: Callable[[int], float],
    smoothing: float = 0.1,
    max_gradient_norm: float = 1.0,
) -> Iterator[TrainingStep]:
    """Update an encoder-decoder model once a batch, with Adam as in the paper (section 5.3).

    The model is in training mode at each step. Dropout, if it has any, draws from torch's own generator.

    Args:
        model: its parameters change; batches are copied to its device.
        batches: as many as there are to be steps.
        rate: the learning rate of a step, counted from 1.
        smoothing: of the labels (section 5.4).
        max_gradient_norm: longer gradients are shortened to it.
    """
    device = model.generator.weight.device
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    pad_id = model.config.pad_id
    for step, batch in enumerate(batches, start=1):
        model.train()
        moved = batch.to(device)
        learning_rate = rate(step)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate
        optimizer.zero_grad()
        n_tokens = count_labels(batch.labels, pad_id=pad_id)
        loss = (
            cross_entropy(model(moved.src, moved.tgt), moved.labels, smoothing=smoothing, pad_id=pad_id)
            / n_tokens
        )
        torch.autograd.backward(loss)
        gradient_norm = nn.utils.clip_grad_norm_(model.parameters(), max_gradient_norm)
        optimizer.step()
        yield TrainingStep(step, float(loss.detach()), n_tokens, learning_rate, float(gradient_norm))
