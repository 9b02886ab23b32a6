"""Attention maps as figures."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    Attention,
    AttentionMaps,
    closed_cells,
    score_expression,
)
from transformer.model.config import TransformerConfig
from viz.figures import attention as figures
from viz.theme import Theme


def attention_figure(
    maps: AttentionMaps,
    attention: Attention,
    config: TransformerConfig,
    *,
    layer: int | None = None,
    head: int | None = None,
    theme: Theme,
    is_moved: bool = False,
    value_range: tuple[float, float] | None = None,
) -> go.Figure:
    """Draw all maps, the heads of one layer side by side, or one head.

    Args:
        maps: the maps of all layers, or of the given layer alone.
        attention: the attention that the maps show.
        config: the model's configuration.
        layer: None draws all layers and heads.
        head: None draws all heads of the layer.
        is_moved: the values are lengths of moved vectors instead of `maps.measure`.
        value_range: the ends of the colour scale; None: `viz.theme.color_range` of the values drawn.
    """
    expression = score_expression(config, attention)
    looks: dict[str, Any] = {
        "query_tokens": maps.query_tokens,
        "key_tokens": maps.key_tokens,
        "theme": theme,
        "quantity": figures.MOVED if is_moved else figures.quantity_of(maps.measure, expression),
        "closed": closed_cells(maps),
        "value_range": value_range,
    }
    title = ATTENTION_LABELS[attention]
    if layer is None:
        return figures.attention_grid(maps.values, title=title, **looks)
    heads, title = maps.values[0], f"{title}, layer {layer}"
    if head is None:
        return figures.side_by_side(heads, title=title, **looks)
    return figures.attention_heatmap(heads[head], title=f"{title}, head {head}", **looks)
