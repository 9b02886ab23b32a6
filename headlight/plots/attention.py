"""Attention: one head, the heads of a layer, all heads, and the terms of one score."""

from __future__ import annotations

import plotly.graph_objects as go

from headlight.runs import Run, check_index
from transformer.analysis.attention_maps import ATTENTION_LABELS, Attention, Measure, attention_record
from viz.figures.dot_product import dot_product_terms
from viz.run_figures.attention import attention_figure
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
    return _figure(run, attention, measure, theme, layer, head)


def plot_layer(
    run: Run, attention: Attention, layer: int, *, measure: Measure = "weights", theme: ThemeName = "light"
) -> go.Figure:
    """All heads of one layer side by side, with one colour scale."""
    run.check_head(attention, layer, 0)
    return _figure(run, attention, measure, theme, layer)


def plot_all_heads(
    run: Run, attention: Attention, *, measure: Measure = "weights", theme: ThemeName = "light"
) -> go.Figure:
    """Every layer (row of tiles) and head (column of tiles) at a glance, with one colour scale."""
    return _figure(run, attention, measure, theme)


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
    """The terms that add up to one score, dimension by dimension, and their running sum.

    A soft cap, if the model has one, is applied after that sum.

    Args:
        run: the run of a sentence.
        attention, layer, head: as for `Run.attention`.
        query, key: positions of the two tokens, from 0.
        theme: "light" or "dark".
    """
    run.check_head(attention, layer, head)
    record = attention_record(run.trace, attention, layer)
    check_index("query", query, record.q.shape[2], "the sentence")
    check_index("key", key, record.k.shape[2], "the sentence")
    group = record.q.shape[1] // record.k.shape[1]  # query heads per key head
    return dot_product_terms(
        record.q[0, head, query].numpy(),
        record.k[0, head // group, key].numpy(),
        theme=palette(theme),
        scale=run.model.model.config.attention_scale,
        title=f"{ATTENTION_LABELS[attention]}, layer {layer}, head {head}, query {query}, key {key}",
    )


def _figure(
    run: Run,
    attention: Attention,
    measure: Measure,
    theme: ThemeName,
    layer: int | None = None,
    head: int | None = None,
) -> go.Figure:
    maps, config = run.maps(attention, measure, layer=layer), run.model.model.config
    return attention_figure(maps, attention, config, layer=layer, head=head, theme=palette(theme))
