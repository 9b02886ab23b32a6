"""The masks of a batch, read from its trace: padding tokens, and the reason why each cell is masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import FUTURE, WINDOW, Attention, attention_record
from transformer.model.attention import masked_softmax
from transformer.model.masks import causal_mask
from transformer.model.trace import Stack, Trace

Mask = Literal["padding", "causal", "window", "combined"]
Closed = dict[str, NDArray[np.bool_]]
"""Reason -> bool array, True where a cell is masked for that reason."""


def padding_of(trace: Trace, stack: Stack) -> NDArray[np.bool_]:
    """True for padding tokens (B, T), read from the mask that the model used: closed to all queries."""
    return ~trace.attention(stack, 0, "self_attn").mask[:, 0].any(dim=1).numpy()


def masks_of(trace: Trace, attention: Attention, sentence: int, layer: int = 0) -> dict[Mask, Closed]:
    """The masks of a sentence in a layer: name -> reason -> (Q, K), True where closed.

    "window" is what the layer's window closes of the cells that the other masks leave open.
    """
    mask = ~attention_record(trace, attention, layer).mask[sentence, 0].numpy()  # (Q, K)
    key_stack: Stack = "decoder" if attention == "decoder" else "encoder"
    padding = np.broadcast_to(padding_of(trace, key_stack)[sentence], mask.shape)
    future = np.zeros_like(mask)
    if attention == "decoder":
        future = ~causal_mask(mask.shape[0])[0, 0].numpy()
    reason = f"padding of sentence {sentence + 1}"
    far = mask & ~padding & ~future
    both = {f"{FUTURE}, and {reason}": future & padding, FUTURE: future & ~padding, reason: padding & ~future}
    return {
        "padding": {reason: padding},
        "causal": {FUTURE: future},
        "window": {WINDOW: far},
        "combined": {why: where & mask for why, where in both.items()} | {WINDOW: far},
    }


@dataclass(frozen=True)
class SoftmaxRow:
    """One query of one head: its scores and their softmax, with and without the mask.

    Attributes:
        scores: (K,) scores before the mask.
        allowed: (K,) True = may attend.
        weights: (K,) softmax over the open keys, as computed by the model.
        without_mask: (K,) softmax over all keys.
        closed: reason -> (K,) bool, True where the mask closes the key for that reason.
        key_tokens: K tokens.
    """

    scores: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    weights: NDArray[np.float32]
    without_mask: NDArray[np.float32]
    closed: Closed
    key_tokens: tuple[str, ...]


def softmax_row(
    trace: Trace, attention: Attention, layer: int, head: int, query: int, sentence: int = 0
) -> SoftmaxRow:
    """Read one query's softmax from the trace; only the unmasked softmax is computed here."""
    record = attention_record(trace, attention, layer)
    scores = record.scores[sentence, head, query]
    combined = masks_of(trace, attention, sentence, layer)["combined"]
    return SoftmaxRow(
        scores.numpy(),
        record.mask[sentence, 0, query].numpy(),
        record.weights[sentence, head, query].numpy(),
        masked_softmax(scores, None).numpy(),
        {reason: where[query] for reason, where in combined.items()},
        record.key_tokens[sentence],
    )
