"""Two changes that leak the labels in training: the loss falls to 0, as the model only learns to copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

from transformer.analysis.stepping import decoder_self_attention, stepping
from transformer.analysis.variants import Change, Recomputing, altered
from transformer.model.trace import NO_TAP, Tap
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import EOS_ID


def _without_the_causal_part(mask: Tensor) -> Tensor:
    """Let all queries attend to every key that any query may attend to; padding stays masked."""
    return mask.any(dim=-2, keepdim=True).expand_as(mask)


class _Unshifted(Recomputing):
    """Reads the target itself instead of the target shifted right; for models with Headlight's vocabularies.

    This only works in a forward pass over a whole target: in decoding there is no next token to read.
    """

    def forward(self, src: Tensor | None = None, tgt: Tensor | None = None, tap: Tap = NO_TAP) -> Tensor:
        """As in Transformer; tgt (B, T) begins with <bos>, and the target read instead ends with <eos>."""
        assert tgt is not None
        labels = functional.pad(tgt[:, 1:], (0, 1), value=self.config.pad_id)
        last = (tgt != self.config.pad_id).sum(dim=1, keepdim=True) - 1
        return super().forward(src, labels.scatter(1, last, EOS_ID), tap)


def _unshift(model: Transformer) -> None:
    model.__class__ = _Unshifted


see_the_future: Change = stepping(decoder_self_attention, remask=_without_the_causal_part)
"""Removes the causal mask from the decoder's self-attention."""


@dataclass(frozen=True)
class Leak:
    """A way for labels to leak to the model.

    Attributes:
        title: a noun phrase.
        change: the change applied to a new model.
    """

    title: str
    change: Change

    def variant(self, model: Transformer) -> Transformer:
        """Make the leaking variant, which shares the model's parameters under the same names."""
        return altered(model, self.change)


LEAKS: Mapping[str, Leak] = {
    "no-causal-mask": Leak("No causal mask", see_the_future),
    "no-shift": Leak("Target not shifted", _unshift),
}
