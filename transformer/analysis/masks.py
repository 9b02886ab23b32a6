"""The masks of a batch, read from its trace: what is padding, and what closes each cell."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import FUTURE, Attention, attention_record
from transformer.model.masks import causal_mask
from transformer.model.trace import Stack, Trace

Mask = Literal["padding", "causal", "combined"]
Closed = dict[str, NDArray[np.bool_]]
"""Reason -> True where the mask closes a cell for it."""


def padding_of(trace: Trace, stack: Stack) -> NDArray[np.bool_]:
    """Which tokens are padding, (B, T), read from the mask that the model itself used.

    The last query of a causal mask may look at every position, so what is closed in its row is padding.
    """
    return ~trace.attention(stack, 0, "self_attn").mask[:, 0, -1].numpy()


def masks_of(trace: Trace, attention: Attention, sentence: int) -> dict[Mask, Closed]:
    """The padding, causal and combined mask of a sentence: name -> reason -> (Q, K), True where closed."""
    mask = ~attention_record(trace, attention, 0).mask[sentence, 0].numpy()  # (Q, K)
    key_stack: Stack = "decoder" if attention == "decoder" else "encoder"
    padding = np.broadcast_to(padding_of(trace, key_stack)[sentence], mask.shape)
    future = np.zeros_like(mask)
    if attention == "decoder":
        future = ~causal_mask(mask.shape[0])[0, 0].numpy()
    reason = f"padding of sentence {sentence + 1}"
    both = {f"{FUTURE}, and {reason}": future & padding, FUTURE: future & ~padding, reason: padding & ~future}
    return {
        "padding": {reason: padding},
        "causal": {FUTURE: future},
        "combined": {why: where & mask for why, where in both.items()},
    }
