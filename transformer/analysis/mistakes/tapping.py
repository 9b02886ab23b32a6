"""Attention with other steps than the paper's, put in through the tap that every forward takes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer.analysis.mistakes.variants import Change
from transformer.model.attention import NO_POSITIONS, MultiHeadAttention, PositionInfo
from transformer.model.cache import KeyValueCache
from transformer.model.trace import NO_TAP, Tap
from transformer.model.transformer import Transformer

Softmax = Callable[[Tensor, Tensor], Tensor]
"""Of scores (B, H, Q, K) and a mask that broadcasts to them: weights (B, H, Q, K)."""


class Reweighing:
    """A tap that puts another softmax in the place of the attention's own; else it is the tap inside.

    Any other tap than `NO_TAP` makes the attention take its steps one by one.
    """

    def __init__(self, tap: Tap, softmax: Softmax) -> None:
        self._tap, self._softmax = tap, softmax
        self._scores: Tensor | None = None
        self._mask: Tensor | None = None

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """See the scores and the mask, and give the weights that follow from them."""
        if name == "weights":
            assert self._scores is not None
            mask = self._mask if self._mask is not None else torch.ones_like(tensor, dtype=torch.bool)
            tensor = self._softmax(self._scores, mask)
        tensor = self._tap(name, tensor)
        if name == "scores":
            self._scores = tensor
        elif name == "mask":
            self._mask = tensor
        return tensor

    def at(self, scope: str | int) -> Tap:
        """The tap inside: what is deeper than an attention is none of ours."""
        return self._tap.at(scope)


class ReweighedAttention(MultiHeadAttention):
    """Multi-head attention with another softmax."""

    softmax: Softmax

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        tap: Tap = NO_TAP,
        cache: KeyValueCache | None = None,
        positions: PositionInfo = NO_POSITIONS,
    ) -> Tensor:
        """As in MultiHeadAttention."""
        return super().forward(x, memory, mask, Reweighing(tap, self.softmax), cache, positions)


def attentions_of(model: nn.Module) -> list[MultiHeadAttention]:
    """All attentions of a model."""
    return [module for module in model.modules() if isinstance(module, MultiHeadAttention)]


def reweighed(softmax: Softmax) -> Change:
    """Puts another softmax into every attention."""

    def change(model: Transformer) -> None:
        for attention in attentions_of(model):
            attention.__class__ = ReweighedAttention
            attention.softmax = softmax  # type: ignore[assignment]

    return change
