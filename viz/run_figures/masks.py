"""The masks of a batch as figures."""

from __future__ import annotations

import plotly.graph_objects as go

from transformer.analysis.attention_maps import Attention, attention_record
from transformer.analysis.masks import Mask, SoftmaxRow, masks_of, padding_of
from transformer.model.trace import Stack, Trace
from viz.figures import masks as figures
from viz.theme import Theme


def batch_figure(
    trace: Trace, stack: Stack, *, theme: Theme, title: str = "", columns: int | None = None
) -> go.Figure:
    """Draw the batch as a stack reads it; see `viz.figures.masks.batch_layout`."""
    padding = padding_of(trace, stack)
    return figures.batch_layout(trace.tokens(stack), padding, theme=theme, title=title, columns=columns)


def mask_figure(
    trace: Trace,
    attention: Attention,
    mask: Mask,
    sentence: int = 0,
    layer: int = 0,
    *,
    theme: Theme,
    title: str = "",
    marked: int | None = None,
) -> go.Figure:
    """Draw which cells of a layer's attention a mask closes, and why; `marked` is a query to frame."""
    record = attention_record(trace, attention, layer)
    return figures.mask_matrix(
        masks_of(trace, attention, sentence, layer)[mask],
        record.query_tokens[sentence],
        record.key_tokens[sentence],
        theme=theme,
        title=title,
        marked=marked,
    )


def softmax_figure(row: SoftmaxRow, *, theme: Theme, title: str = "") -> go.Figure:
    """Draw one query's scores and softmax, with and without the mask."""
    return figures.softmax_with_without(
        row.scores,
        row.weights,
        row.without_mask,
        row.closed,
        row.key_tokens,
        theme=theme,
        title=title,
    )
