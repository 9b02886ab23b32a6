"""Attention: one head, the heads of a layer, all heads, and the terms of one score."""

from __future__ import annotations

import plotly.graph_objects as go

from headlight.runs import Run, check_index
from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    Attention,
    Measure,
    attention_record,
    closed_cells,
    score_expression,
)
from viz.figures import attention as figures
from viz.figures.dot_product import dot_product_terms
from viz.theme import ThemeName, palette


def plot_attention(
    run: Run,
    attention: Attention,
    layer: int,
    head: int,
    *,
    measure: Measure = "weights",
    theme: ThemeName = "light",
) -> go.Figure:
    """One head: which query (row) looks at which key (column). Arguments as for `Run.attention`."""
    run.check_head(attention, layer, head)
    return _drawn(run, attention, measure, theme, layer, head)


def plot_layer(
    run: Run, attention: Attention, layer: int, *, measure: Measure = "weights", theme: ThemeName = "light"
) -> go.Figure:
    """All heads of one layer beside each other, in one colour range."""
    run.check_head(attention, layer, 0)
    return _drawn(run, attention, measure, theme, layer)


def plot_all_heads(
    run: Run, attention: Attention, *, measure: Measure = "weights", theme: ThemeName = "light"
) -> go.Figure:
    """Every layer (row of tiles) and head (column of tiles) at a glance, in one colour range."""
    return _drawn(run, attention, measure, theme)


def plot_dot_product(
    run: Run,
    attention: Attention,
    layer: int,
    head: int,
    query: int,
    key: int,
    *,
    theme: ThemeName = "light",
) -> go.Figure:
    """The terms that one score is the sum of, dimension by dimension, and their running sum.

    A soft cap, where there is one, comes after that sum.

    Args:
        run: of a sentence.
        attention, layer, head: as for `Run.attention`.
        query, key: positions of the two tokens, from 0.
        theme: "light" or "dark".
    """
    run.check_head(attention, layer, head)
    record = attention_record(run.trace, attention, layer)
    check_index("query", query, record.q.shape[2], "the sentence")
    check_index("key", key, record.k.shape[2], "the sentence")
    shared = record.q.shape[1] // record.k.shape[1]  # heads of queries that one head of keys serves
    return dot_product_terms(
        record.q[0, head, query].numpy(),
        record.k[0, head // shared, key].numpy(),
        theme=palette(theme),
        scale=run.model.model.config.attention_scale,
        title=f"{ATTENTION_LABELS[attention]}, layer {layer}, head {head}, query {query}, key {key}",
    )


def _drawn(
    run: Run,
    attention: Attention,
    measure: Measure,
    theme: ThemeName,
    layer: int | None = None,
    head: int | None = None,
) -> go.Figure:
    """All maps, those of a layer, or that of a head."""
    maps, places = run.maps(attention, measure, layer=layer), [ATTENTION_LABELS[attention]]
    draw, values = figures.attention_grid, maps.values
    if layer is not None:
        draw, values, places = figures.side_by_side, values[0], [*places, f"layer {layer}"]
    if head is not None:
        draw, values, places = figures.attention_heatmap, values[head], [*places, f"head {head}"]
    expression = score_expression(run.model.model.config, attention)
    return draw(
        values,
        maps.query_tokens,
        maps.key_tokens,
        theme=palette(theme),
        quantity=figures.quantity_of(measure, expression),
        closed=closed_cells(maps),
        title=", ".join(places),
    )
