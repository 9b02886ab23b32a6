"""Attention of a run as labelled arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from transformer.model.config import TransformerConfig
from transformer.model.trace import AttentionName, AttentionRecord, Stack, Trace
from transformer.model_input import Input
from transformer.run import Run

Attention = Literal["encoder", "decoder", "cross"]
Measure = Literal["weights", "scores", "masked"]

MODULES: dict[Attention, tuple[Stack, AttentionName]] = {
    "encoder": ("encoder", "self_attn"),
    "decoder": ("decoder", "self_attn"),
    "cross": ("decoder", "cross_attn"),
}
"""Stack and module of each attention."""

STACKS: tuple[Stack, ...] = ("encoder", "decoder")

ATTENTION_LABELS: dict[Attention, str] = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
}

FUTURE = "future: comes after the query"
"""Reason why a causal mask closes a cell."""
WINDOW = "window: too far from the query"
"""Reason why a layer's attention window closes a cell."""


@dataclass(frozen=True)
class AttentionMaps:
    """One attention for one sentence, with all layers and heads.

    Attributes:
        values: (L, H, Q, K) float32; closed cells are 0 in weights, -inf in scores after the mask.
        allowed: (Q, K) bool, True = may attend in some of these layers; all True for scores before the mask.
        query_tokens, key_tokens: Q and K tokens.
        measure: kind of values.
    """

    values: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    measure: Measure = "weights"

    @property
    def n_layers(self) -> int:
        """L, the number of layers."""
        return self.values.shape[0]

    @property
    def n_heads(self) -> int:
        """H, the number of heads per layer."""
        return self.values.shape[1]


@dataclass(frozen=True)
class Words:
    """The words that a stack's tokens belong to; each special token is a word of its own.

    Attributes:
        labels: the W words.
        word_of: (T,) the index of each token's word, in ascending order without gaps.
    """

    labels: tuple[str, ...]
    word_of: NDArray[np.int64]

    @property
    def starts(self) -> NDArray[np.int64]:
        """Position of each word's first token: (W,)."""
        return np.flatnonzero(np.diff(self.word_of, prepend=-1))

    def tokens(self, word: int) -> range:
        """The positions of a word's tokens."""
        first, stop = np.searchsorted(self.word_of, [word, word + 1])
        return range(int(first), int(stop))


def attention_record(trace: Trace, attention: Attention, layer: int) -> AttentionRecord:
    """The recorded tensors of one layer of an attention."""
    stack, name = MODULES[attention]
    return trace.attention(stack, layer, name)


def attentions(trace: Trace) -> list[Attention]:
    """The attentions in a trace, in the order of `MODULES`."""
    return [
        attention
        for attention, (stack, name) in MODULES.items()
        if f"{stack}.layers.0.{name}.weights" in trace
    ]


def n_layers(trace: Trace, attention: Attention) -> int:
    """Number of layers with this attention."""
    return trace.n_layers(MODULES[attention][0])


def attention_maps(
    trace: Trace, attention: Attention, measure: Measure, sentence: int = 0, *, layer: int | None = None
) -> AttentionMaps:
    """Build the maps of all heads for one sentence of the batch, for all layers or one."""
    layers = range(n_layers(trace, attention)) if layer is None else [layer]
    records = [attention_record(trace, attention, number) for number in layers]
    masks = np.stack([record.mask[sentence, 0].numpy() for record in records])  # (L, Q, K)
    name = "weights" if measure == "weights" else "scores"
    values = np.stack([getattr(record, name)[sentence].numpy() for record in records])  # (L, H, Q, K)
    if measure == "masked":
        values = np.where(masks[:, None], values, np.float32(-np.inf))
    allowed = np.logical_or.reduce(masks)
    return AttentionMaps(
        values=values,
        allowed=np.ones_like(allowed) if measure == "scores" else allowed,
        query_tokens=records[0].query_tokens[sentence],
        key_tokens=records[0].key_tokens[sentence],
        measure=measure,
    )


def stacks(trace: Trace) -> list[Stack]:
    """The stacks in a trace, the encoder first."""
    return [stack for stack in STACKS if trace.n_layers(stack)]


def words_of(run: Run, stack: Stack) -> Words:
    """The words of a stack's input; each special token is a word of its own.

    Raises:
        KeyError: for a stack that the model doesn't have.
    """
    read = run.encoder_input if stack == "encoder" else run.decoder_input
    if read is None:
        raise KeyError(stack)
    return _words(read)


def _words(read: Input) -> Words:
    sentence, stop = read.sentence, read.first + len(read.sentence.ids)
    before, after = read.tokens[: read.first], read.tokens[stop:]
    labels = (*before, *sentence.words, *after)
    word_of = [*range(len(before)), *(len(before) + word for word in sentence.word_of)]
    word_of += range(len(labels) - len(after), len(labels))
    return Words(labels, np.array(word_of))


def score_expression(config: TransformerConfig, attention: Attention) -> str:
    """The formula for an attention score in this model."""
    is_biased = config.has_position_bias and attention != "cross"
    by = " / √d_head" if config.attention_scale is True else f" · {config.attention_scale:g}"
    score = "q·k" + (by if config.attention_scale else "") + (" + b" if is_biased else "")
    cap = config.attention_soft_cap
    return f"{cap:g} tanh(({score}) / {cap:g})" if cap else score


def attention_words(run: Run, attention: Attention) -> tuple[Words, Words]:
    """The words of an attention's queries and keys."""
    stack, name = MODULES[attention]
    return words_of(run, stack), words_of(run, "encoder" if name == "cross_attn" else stack)


def by_word(maps: AttentionMaps, queries: Words, keys: Words) -> AttentionMaps:
    """Combine weights into maps between words: summed over keys and averaged over queries, so rows sum to 1.

    A cell is closed if all cells between the two words' tokens are.
    """
    sizes = np.diff([*queries.starts, len(queries.word_of)])
    summed = np.add.reduceat(maps.values, keys.starts, axis=-1, dtype=np.float64)  # (L, H, Q, words)
    means = np.add.reduceat(summed, queries.starts, axis=-2) / sizes[:, None]
    some_key = np.logical_or.reduceat(maps.allowed, keys.starts, axis=-1)
    return replace(
        maps,
        values=means.astype(np.float32),
        allowed=np.logical_or.reduceat(some_key, queries.starts, axis=-2),
        query_tokens=queries.labels,
        key_tokens=keys.labels,
    )


def closed_reasons(allowed: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
    """Why cells of a sentence's mask (Q, K; True = may attend) are closed: reason -> (Q, K) bool.

    A token may attend to itself, so a key that is closed to all queries is padding, which users can type.
    """
    padding = np.broadcast_to(~allowed.any(axis=0), allowed.shape)
    later = np.triu(np.ones_like(allowed), 1)
    future = later & ~padding & ~(allowed & later).any()
    return {FUTURE: future, "padding": padding, WINDOW: ~allowed & ~padding & ~future}


def closed_cells(maps: AttentionMaps) -> dict[str, NDArray[np.bool_]]:
    """The `closed_reasons` that close any cell in a sentence's maps."""
    return {reason: cells for reason, cells in closed_reasons(maps.allowed).items() if cells.any()}
