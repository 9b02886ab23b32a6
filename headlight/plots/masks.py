"""Masks: the batch, what closes each cell, and what that does to one softmax."""

from __future__ import annotations

import plotly.graph_objects as go

from headlight.runs import Batch, check_index
from transformer.analysis.attention_maps import ATTENTION_LABELS, Attention, attention_record
from transformer.analysis.masks import Mask, masks_of, padding_of
from transformer.model.attention import masked_softmax
from transformer.model.trace import Stack
from viz.figures import masks as figures
from viz.theme import ThemeName, palette


def plot_batch(batch: Batch, stack: Stack, *, theme: ThemeName = "light") -> go.Figure:
    """The batch as a stack ("encoder" or "decoder") gets it: a row is a sentence, padding is hatched."""
    return figures.batch_layout(
        batch.trace.tokens(stack),
        padding_of(batch.trace, batch.check_stack(stack)),
        theme=palette(theme),
        title=f"What the {stack} reads",
    )


def plot_mask(
    batch: Batch,
    attention: Attention,
    mask: Mask = "combined",
    *,
    sentence: int = 0,
    theme: ThemeName = "light",
) -> go.Figure:
    """Which cells of an attention are open, and why the others are closed.

    Args:
        batch: or a single run.
        attention: "encoder", "decoder" or "cross".
        mask: "padding", "causal", or both "combined".
        sentence: of the batch, from 0.
        theme: "light" or "dark".
    """
    maps = batch.maps(attention, sentence=sentence, layer=0)
    return figures.mask_matrix(
        masks_of(batch.trace, attention, sentence)[mask],
        maps.query_tokens,
        maps.key_tokens,
        theme=palette(theme),
        title=f"{ATTENTION_LABELS[attention]}: {mask} mask",
    )


def plot_softmax(
    batch: Batch,
    attention: Attention,
    layer: int,
    head: int,
    query: int,
    *,
    sentence: int = 0,
    theme: ThemeName = "light",
) -> go.Figure:
    """One query's scores before and after the mask, and the softmax with and without it.

    Args:
        batch: or a single run.
        attention, layer, head, sentence: as for `Batch.attention`.
        query: position of the token that looks, from 0.
        theme: "light" or "dark".
    """
    batch.check_head(attention, layer, head)
    maps = batch.maps(attention, sentence=sentence, layer=0)
    check_index("query", query, len(maps.query_tokens), "the sentence")
    record = attention_record(batch.trace, attention, layer)
    scores = record.scores[sentence, head, query]
    combined = masks_of(batch.trace, attention, sentence)["combined"]
    return figures.softmax_with_without(
        scores.numpy(),
        record.weights[sentence, head, query].numpy(),
        masked_softmax(scores, None).numpy(),
        {reason: where[query] for reason, where in combined.items()},
        maps.key_tokens,
        theme=palette(theme),
        title=f"{ATTENTION_LABELS[attention]}, layer {layer}, head {head}, query {query}",
    )
