"""From a trace to the arrays that figures and views draw: one place that knows which attention is which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from transformer.trace import AttentionName, AttentionRecord, Stack, Trace

Attention = Literal["encoder", "decoder", "cross"]
Measure = Literal["weights", "scores", "masked"]

MODULES: dict[Attention, tuple[Stack, AttentionName]] = {
    "encoder": ("encoder", "self_attn"),
    "decoder": ("decoder", "self_attn"),
    "cross": ("decoder", "cross_attn"),
}
"""Where each attention lives in the model."""

ATTENTION_LABELS: dict[Attention, str] = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
}

MEASURE_LABELS: dict[Measure, str] = {
    "weights": "Weights",
    "scores": "Raw scores",
    "masked": "Scores after the mask",
}


@dataclass(frozen=True)
class AttentionMaps:
    """One attention of one sentence, with all its layers and heads.

    Attributes:
        values: (L, H, Q, K) float32; a closed cell is 0 in weights, -inf in scores after the mask.
        allowed: (Q, K) bool, True = may attend; all True for scores before the mask.
        query_tokens, key_tokens: Q and K tokens.
    """

    values: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]


def attention_record(trace: Trace, attention: Attention, layer: int) -> AttentionRecord:
    """What the trace has of one layer of an attention."""
    stack, name = MODULES[attention]
    return trace.attention(stack, layer, name)


def n_layers(trace: Trace, attention: Attention) -> int:
    """How many layers have this attention."""
    return trace.n_layers(MODULES[attention][0])


def attention_maps(trace: Trace, attention: Attention, measure: Measure, sentence: int = 0) -> AttentionMaps:
    """The maps of all layers and heads, for one sentence of the batch."""
    records = [attention_record(trace, attention, layer) for layer in range(n_layers(trace, attention))]
    mask = records[0].mask[sentence, 0].numpy()  # (Q, K), the same in every layer
    name = "weights" if measure == "weights" else "scores"
    values = np.stack([getattr(record, name)[sentence].numpy() for record in records])  # (L, H, Q, K)
    if measure == "masked":
        values = np.where(mask, values, np.float32(-np.inf))
    return AttentionMaps(
        values=values,
        allowed=np.ones_like(mask) if measure == "scores" else mask,
        query_tokens=records[0].query_tokens[sentence],
        key_tokens=records[0].key_tokens[sentence],
    )


def strongest_cell(maps: AttentionMaps, layer: int, head: int) -> tuple[int, int]:
    """The (query, key) of a head's largest open value."""
    values = np.where(maps.allowed, maps.values[layer, head], -np.inf)
    query, key = np.unravel_index(int(values.argmax()), values.shape)
    return int(query), int(key)


def closed_cells(maps: AttentionMaps) -> dict[str, NDArray[np.bool_]]:
    """Why cells of a single sentence's maps are closed: reason -> (Q, K) bool.

    Without padding, only the future is.
    """
    return {} if maps.allowed.all() else {"future: comes after the query": ~maps.allowed}
