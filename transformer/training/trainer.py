"""Training as a generator of steps: the command line prints them, a page draws them, a test counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from transformer.data import Batch
from transformer.loss import count_labels, cross_entropy
from transformer.model import Transformer

Precision = Literal["float32", "bfloat16", "float16"]


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


class Trainer:
    """Updates an encoder-decoder model with Adam as in the paper (section 5.3).

    The model is in training mode at each update. Dropout, if it has any, draws from torch's own generator.

    Args:
        model: its parameters change; batches are copied to its device.
        rate: the learning rate of a step, counted from 1.
        smoothing: of the labels (section 5.4).
        max_gradient_norm: longer gradients are shortened to it.
        precision: of the products of matrices; weights, sums and the optimizer stay in float32.

    Attributes:
        step: updates so far.
    """

    def __init__(
        self,
        model: Transformer,
        *,
        rate: Callable[[int], float],
        smoothing: float = 0.1,
        max_gradient_norm: float = 1.0,
        precision: Precision = "float32",
    ) -> None:
        self.model = model
        self.step = 0
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
        self._rate = rate
        self._smoothing = smoothing
        self._max_gradient_norm = max_gradient_norm
        self._precision = precision

    def update(self, batches: Iterable[Batch]) -> TrainingStep:
        """Make one update by the gradient of one batch, or of several whose gradients add up."""
        device = self.model.generator.weight.device
        moved = [batch.to(device) for batch in batches]
        pad_id = self.model.config.pad_id
        n_tokens = sum(count_labels(batch.labels, pad_id=pad_id) for batch in moved)
        learning_rate = self._rate(self.step + 1)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.model.train()
        self.optimizer.zero_grad()
        loss = torch.zeros((), device=device)
        for batch in moved:
            part = self._loss(batch) / n_tokens
            torch.autograd.backward(part)
            loss += part.detach()
        gradient_norm = nn.utils.clip_grad_norm_(self.model.parameters(), self._max_gradient_norm)
        self.optimizer.step()
        self.step += 1
        return TrainingStep(self.step, float(loss), n_tokens, learning_rate, float(gradient_norm))

    def _loss(self, batch: Batch) -> Tensor:
        device = self.model.generator.weight.device.type
        with torch.autocast(device, getattr(torch, self._precision), enabled=self._precision != "float32"):
            logits = self.model(batch.src, batch.tgt)
        return cross_entropy(logits, batch.labels, smoothing=self._smoothing, pad_id=self.model.config.pad_id)


def train(
    model: Transformer,
    batches: Iterable[Batch],
    *,
    rate: Callable[[int], float],
    smoothing: float = 0.1,
    max_gradient_norm: float = 1.0,
) -> Iterator[TrainingStep]:
    """Update a model once a batch: see `Trainer`."""
    trainer = Trainer(model, rate=rate, smoothing=smoothing, max_gradient_norm=max_gradient_norm)
    for batch in batches:
        yield trainer.update([batch])
