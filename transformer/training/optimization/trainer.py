"""Updates a model: loss, gradient, clipping, Adam."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from transformer.data.batches import Batch
from transformer.model.transformer import Transformer
from transformer.training.optimization.loss import count_labels, cross_entropy
from transformer.training.optimization.ranks import ALONE, Ranks

Precision = Literal["float32", "bfloat16", "float16"]

MOST_SKIPPED = 40
"""Most consecutive updates that float16 may skip: each halves the loss scale, so more have another cause."""


class NonFiniteError(ArithmeticError):
    """A loss, a gradient or weights are not finite; the model is unchanged by the update."""


@dataclass(frozen=True)
class TrainingStep:
    """One update.

    Attributes:
        step: from 1.
        loss: loss before the update in nats, with label smoothing: the mean over the labels of all batches.
        n_tokens: number of labels.
        learning_rate: learning rate of this update.
        gradient_norm: gradient norm before clipping.
        skipped: True if the weights were not updated because the gradient was not finite in float16.
    """

    step: int
    loss: float
    n_tokens: int
    learning_rate: float
    gradient_norm: float
    skipped: bool = False


class Trainer:
    """Updates an encoder-decoder model with Adam as in the paper (section 5.3).

    Updates set the model to training mode. Dropout draws from torch's default generator.

    Args:
        model: its parameters change; batches are copied to its device.
        rate: returns the learning rate of a step, from 1.
        smoothing: label smoothing (section 5.4).
        max_gradient_norm: norm that gradients are clipped to.
        precision: precision of matrix products; weights, sums and the optimizer stay in float32. float16
            needs a GPU and loss scaling, which keeps small gradients from vanishing.
        compiled: whether to use torch.compile; the first updates are then slow.
        ranks: the processes that train together.

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
        compiled: bool = False,
        ranks: Ranks = ALONE,
    ) -> None:
        self.model = model
        self.step = 0
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=precision == "float16")
        self.ranks = ranks
        self._rate = rate
        self._smoothing = smoothing
        self._max_gradient_norm = max_gradient_norm
        self._precision = precision
        self._n_skipped = 0
        self._together = ranks.together(model)
        self._forward: Callable[[Tensor, Tensor], Tensor] = (
            torch.compile(self._together, dynamic=True) if compiled else self._together
        )

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return self.model.generator.weight.device

    def update(self, batches: Sequence[Batch]) -> TrainingStep:
        """Make one update with the gradient of one or several batches.

        Args:
            batches: this process's batches: at least one, and the same number in every process.

        Raises:
            NonFiniteError: when the loss or the gradient is not finite; the model is then unchanged.
        """
        pad_id = self.model.config.pad_id
        n_labels = sum(count_labels(batch.labels, pad_id=pad_id) for batch in batches)
        n_tokens = round(self.ranks.total(n_labels))
        learning_rate = self._rate(self.step + 1)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.model.train()
        self.optimizer.zero_grad()
        loss = torch.zeros((), device=self.device)
        for number, batch in enumerate(batches, start=1):
            with self._alone_unless(number == len(batches)):
                # Gradients are averaged over processes, but the sum is needed: hence the factor ranks.count.
                part = self._loss(batch.to(self.device)) / (n_tokens / self.ranks.count)
                torch.autograd.backward(self.scaler.scale(part))
            loss += part.detach()
        mean_loss = self.ranks.total(float(loss)) / self.ranks.count
        gradient_norm, skipped = self._descend(mean_loss)
        self.step += 1
        return TrainingStep(self.step, mean_loss, n_tokens, learning_rate, gradient_norm, skipped)

    def _alone_unless(self, is_last: bool) -> AbstractContextManager[None]:
        """Exchange gradients between processes only with the last batch of an update."""
        if isinstance(self._together, DistributedDataParallel) and not is_last:
            return self._together.no_sync()
        return nullcontext()

    def _loss(self, batch: Batch) -> Tensor:
        device = self.device.type
        with torch.autocast(device, getattr(torch, self._precision), enabled=self._precision != "float32"):
            logits = self._forward(batch.src, batch.tgt)
        return cross_entropy(logits, batch.labels, smoothing=self._smoothing, pad_id=self.model.config.pad_id)

    def _descend(self, loss: float) -> tuple[float, bool]:
        """Clip the gradient and update; returns its norm, and True if float16 skipped the update."""
        self.scaler.unscale_(self.optimizer)
        norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), self._max_gradient_norm))
        skipped = not (math.isfinite(norm) and math.isfinite(loss))
        self._n_skipped = self._n_skipped + 1 if skipped else 0
        if skipped and (not self.scaler.is_enabled() or self._n_skipped > MOST_SKIPPED):
            raise NonFiniteError(f"the loss is {loss} and the length of the gradient {norm}")
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return norm, skipped
