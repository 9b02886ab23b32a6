"""The row of lesson 3 in pictures."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from transformer.analysis.attention_maps import attention_maps, closed_cells
from viz.figures.attention import attention_heatmap
from viz.figures.bars import token_bars
from viz.figures.dot_product import dot_product_terms
from viz.pages.learn.lessons.computed.row import row_of
from viz.pages.learn.lessons.format.parts import Figure
from viz.pages.learn.lessons.format.subject import Subject
from viz.theme import Theme


def score_terms(subject: Subject, theme: Theme) -> go.Figure:
    """The terms of the row's largest score."""
    row = row_of(subject)
    return dot_product_terms(row.q, row.k[row.first], theme=theme, scale=subject.config.attention_scale)


def row_bars(subject: Subject, *, of_weights: bool) -> Figure:
    """The row's scores or, after the softmax, its weights."""
    row = row_of(subject)
    tokens = [token for token, is_open in zip(row.tokens, row.is_open, strict=True) if is_open]
    values = (row.weights if of_weights else row.scores)[row.is_open]
    quantity = "weight" if of_weights else "score"
    return Figure(
        lambda _, theme: token_bars(values, tokens, theme=theme, quantity=quantity),
        "The row after the softmax." if of_weights else "The row before the softmax.",
        f"lesson-row-{quantity}s",
    )


def all_rows(subject: Subject, *, equal: bool) -> Figure:
    """All rows of the row's head, with its own weights or with equal ones."""
    row = row_of(subject)
    maps = attention_maps(subject.run.trace, row.attention, "weights", layer=0)
    head = maps.values[0, row.head]
    if equal:
        head = (maps.allowed / np.maximum(maps.allowed.sum(axis=1, keepdims=True), 1)).astype(np.float32)
    return Figure(
        lambda _, theme: attention_heatmap(
            head, maps.query_tokens, maps.key_tokens, theme=theme, closed=closed_cells(maps)
        ),
        "The same weight for all." if equal else "The weights of the head.",
        "lesson-equal" if equal else "lesson-head",
    )
