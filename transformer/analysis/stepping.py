"""Attention with some steps replaced through the tap."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from transformer.analysis.variants import Change
from transformer.model.attention import NO_POSITIONS, MultiHeadAttention, PositionInfo
from transformer.model.cache import KeyValueCache
from transformer.model.trace import NO_TAP, Tap
from transformer.model.transformer import Transformer

Softmax = Callable[[Tensor, Tensor], Tensor]
"""Maps scores (B, H, Q, K) and a mask broadcastable to them to weights (B, H, Q, K)."""

Remask = Callable[[Tensor], Tensor]
"""Maps a mask (True = may attend) to another of the same shape."""


class SteppingTap:
    """A tap that replaces steps of one attention and passes the results to an inner tap.

    With any tap but `NO_TAP`, the attention computes its steps explicitly.

    Args:
        tap: the inner tap.
        rescale: an additional factor for the products of queries and keys.
        softmax: computes the weights; None for the attention's own.
        opened: maps the mask to the cells that the weights actually use; None if they respect the mask.
    """

    def __init__(self, tap: Tap, rescale: float, softmax: Softmax | None, opened: Remask | None) -> None:
        self._tap, self._rescale, self._softmax, self._opened = tap, rescale, softmax, opened
        self._seen: dict[str, Tensor] = {}

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Replace the tensor if its step is replaced."""
        self._seen[name] = tensor
        if name == "scores" and self._rescale != 1:
            bias = self._seen.get("position_bias", torch.zeros(()))
            self._seen[name] = tensor = (tensor - bias) * self._rescale + bias
        elif name == "mask" and self._opened is not None:
            tensor = self._opened(tensor)
        elif name == "weights" and self._softmax is not None:
            mask = self._seen.get("mask", torch.ones((), dtype=torch.bool, device=tensor.device))
            tensor = self._softmax(self._seen["scores"], mask)
        return self._tap(name, tensor)

    def at(self, scope: str | int) -> Tap:
        """The inner tap, because nothing below an attention is changed."""
        return self._tap.at(scope)


class SteppingAttention(MultiHeadAttention):
    """Multi-head attention with some steps replaced; see `SteppingTap`.

    Attributes:
        remask: maps the mask before it is used; None leaves it unchanged.
    """

    rescale: float = 1.0
    softmax: Softmax | None = None
    opened: Remask | None = None
    remask: Remask | None = None

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
        if mask is not None and self.remask is not None:
            mask = self.remask(mask)
        if self.rescale != 1 or self.softmax is not None or self.opened is not None:
            tap = SteppingTap(tap, self.rescale, self.softmax, self.opened)
        return super().forward(x, memory, mask, tap, cache, positions)


Which = Callable[[Transformer], Iterable[nn.Module]]
"""Selects attentions of a model."""


def every_attention(model: Transformer) -> list[nn.Module]:
    """All attentions of a model."""
    return [module for module in model.modules() if isinstance(module, MultiHeadAttention)]


def decoder_self_attention(model: Transformer) -> list[nn.Module]:
    """The decoder's self-attentions, which have the causal mask."""
    return [layer.get_submodule("self_attn") for layer in model.decoder.layers]


def source_attention(model: Transformer) -> list[nn.Module]:
    """The attentions whose keys are source tokens: the encoder's, and cross-attention if there is one."""
    return [layer.get_submodule("self_attn") for layer in model.encoder.layers] + cross_attention(model)


def cross_attention(model: Transformer) -> list[nn.Module]:
    """The cross-attentions; none in a model with a single stack."""
    layers = model.decoder.layers if model.config.kind == "encoder-decoder" else ()
    return [layer.get_submodule("cross_attn") for layer in layers]


def stepping(
    which: Which = every_attention,
    *,
    rescale: Callable[[MultiHeadAttention], float] = lambda attention: 1.0,
    softmax: Softmax | None = None,
    opened: Remask | None = None,
    remask: Remask | None = None,
) -> Change:
    """Make a change that replaces steps of some attentions; see `SteppingAttention`."""

    def change(model: Transformer) -> None:
        for attention in which(model):
            assert isinstance(attention, MultiHeadAttention)
            factor = rescale(attention)
            attention.__class__ = SteppingAttention
            assert isinstance(attention, SteppingAttention)
            attention.rescale = factor
            attention.softmax, attention.opened, attention.remask = softmax, opened, remask

    return change
