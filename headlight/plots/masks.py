"""Masks: the batch, what closes each cell, and what that does to one softmax."""

from __future__ import annotations

import plotly.graph_objects as go

from headlight.runs import Batch, check_index
from transformer.analysis.attention_maps import ATTENTION_LABELS, Attention, attention_record
from transformer.analysis.masks import Mask, softmax_row
from transformer.model.trace import Stack
from viz.run_figures.masks import batch_figure, mask_figure, softmax_figure
from viz.theme import ThemeName, palette


def plot_batch(batch: Batch, stack: Stack, *, theme: ThemeName = "light") -> go.Figure:
    """The batch as a stack ("encoder" or "decoder") reads it: one row per sentence, padding hatched."""
    title = f"What the {batch.check_stack(stack)} reads"
    return batch_figure(batch.trace, stack, theme=palette(theme), title=title)


def plot_mask(
    batch: Batch,
    attention: Attention,
    mask: Mask = "combined",
    *,
    layer: int = 0,
    sentence: int = 0,
    theme: ThemeName = "light",
) -> go.Figure:
    """Which cells of an attention are open, and why the others are closed.

    Args:
        batch: a batch or a single run.
        attention: "encoder", "decoder" or "cross".
        mask: "padding", "causal", "window" (the layer's, if it has one), or all "combined".
        layer: index of the layer; the masks of layers differ only in windows.
        sentence: index in the batch, from 0.
        theme: "light" or "dark".
    """
    batch.check_head(attention, layer, 0)
    batch.check_sentence(sentence)
    title = f"{ATTENTION_LABELS[attention]}: {mask} mask"
    return mask_figure(batch.trace, attention, mask, sentence, layer, theme=palette(theme), title=title)


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
        batch: a batch or a single run.
        attention, layer, head, sentence: as for `Batch.attention`.
        query: position of the query, from 0.
        theme: "light" or "dark".
    """
    batch.check_head(attention, layer, head)
    batch.check_sentence(sentence)
    n_queries = attention_record(batch.trace, attention, layer).weights.shape[2]
    check_index("query", query, n_queries, "the sentence")
    row = softmax_row(batch.trace, attention, layer, head, query, sentence)
    title = f"{ATTENTION_LABELS[attention]}, layer {layer}, head {head}, query {query}"
    return softmax_figure(row, theme=palette(theme), title=title)
