"""Attention maps in the views that the browser draws: a grid of heads, a matrix, lines and rows.

The one place that hands a run's maps to them, with their tokens made visible, their closed cells told with
the reason, and the theme's colours. A view's `key` is its identity on the page, its `title` is for screen
readers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.analysis.attention_maps import AttentionMaps, closed_cells
from viz import theme
from viz.components.attention_grid import GridCell, attention_grid
from viz.components.attention_lines import WINDOW, attention_lines
from viz.components.attention_matrix import MatrixCell, attention_matrix
from viz.components.head_rows import HeadBlock, HeadRow, head_rows
from viz.figures.labels import visible
from viz.pooling import pool_maps
from viz.session import current_theme

GRID_SIDE = 48
"""Pixels of one map in a grid, at most; a larger one is pooled to them."""
SHARES = (0.0, 1.0)
"""The colour scale of weights that are compared from one moment to the next."""


def color_range(maps: AttentionMaps) -> tuple[float, float]:
    """The ends of the colour scale for all of the maps, so that one number has one colour everywhere."""
    return theme.color_range(maps.values, signed=maps.measure != "weights")


def grid(
    maps: AttentionMaps,
    layer: int,
    head: int,
    choose: Callable[[int, int], None],
    *,
    key: str,
    title: str = "Attention of every head",
    value_range: tuple[float, float] = SHARES,
    side: int = GRID_SIDE,
    first_layer: int = 0,
) -> None:
    """Draw every layer and head at a glance.

    Args:
        maps: of all layers, or of some.
        layer, head: the chosen ones.
        choose: called with the layer and head that were clicked.
        value_range: the ends of the colour scale.
        side: pixels that a map is pooled to.
        first_layer: the number of the maps' first layer.
    """
    attention_grid(
        pool_maps(maps.values, maps.allowed, side),
        query_tokens=_visible(maps.query_tokens),
        key_tokens=_visible(maps.key_tokens),
        layer_labels=[f"layer {first_layer + i}" for i in range(maps.n_layers)],
        head_labels=_head_labels(maps),
        colors=current_theme(),
        key=key,
        title=title,
        value_label=_value_label(maps),
        kind="weights" if maps.measure == "weights" else "scores",
        value_range=value_range,
        selected=GridCell(layer - first_layer, head),
        on_select=lambda cell: choose(first_layer + cell.layer, cell.head),
    )


def matrix(
    maps: AttentionMaps,
    layer: int,
    head: int,
    *,
    key: str,
    title: str,
    formula: str = "",
    value_range: tuple[float, float] = SHARES,
    beside: Sequence[AttentionMaps] = (),
    cell: tuple[int, int] | None = None,
    choose: Callable[[tuple[int, int] | None], None] | None = None,
) -> None:
    """Draw one head large.

    Args:
        formula: how the model computes a score.
        value_range: the ends of the colour scale.
        beside: the maps that it is compared with in columns of the same width: all have cells of one size.
        cell: the chosen (query, key).
        choose: called with the cell that was clicked, or None when it was let go.
    """
    codes, reasons = _closed(maps)
    attention_matrix(
        maps.values[layer, head],
        query_tokens=_visible(maps.query_tokens),
        key_tokens=_visible(maps.key_tokens),
        colors=current_theme(),
        key=key,
        kind="weights" if maps.measure == "weights" else "scores",
        closed=codes,
        reasons=reasons,
        title=title,
        value_label=f"{_value_label(maps)} {formula}".strip(),
        value_range=value_range,
        beside=[(_visible(other.query_tokens), _visible(other.key_tokens)) for other in beside],
        selected=None if cell is None else MatrixCell(*cell),
        on_select=None if choose is None else lambda at: choose(None if at is None else (at.query, at.key)),
    )


def lines(maps: AttentionMaps, layer: int, cell: tuple[int, int], *, key: str) -> None:
    """Draw all heads of a layer as lines from the tokens that look to the tokens they look at.

    Of a long sentence the tokens around a (query, key) cell are shown.
    """
    attention_lines(
        maps.values[layer],
        query_tokens=_visible(maps.query_tokens),
        key_tokens=_visible(maps.key_tokens),
        head_labels=_head_labels(maps),
        colors=current_theme(),
        key=key,
        title=f"All heads of layer {layer}",
        first_query=cell[0] // WINDOW * WINDOW,
        first_key=cell[1] // WINDOW * WINDOW,
    )
    if max(maps.allowed.shape) > WINDOW:
        st.caption(f"The {WINDOW} tokens around the chosen cell are shown: choose another under One head.")


def rows(
    blocks: Mapping[str, AttentionMaps],
    query: int,
    chosen: tuple[int, int, int] | None,
    choose: Callable[[int, int, int], None],
    *,
    key: str,
    title: str,
) -> None:
    """Draw where every head looks from one query, one row per head.

    Args:
        blocks: name of an attention -> its maps.
        query: the position that looks.
        chosen: the number of a block, a layer and a head.
        choose: called with the three that were clicked.
    """
    head_rows(
        [
            HeadBlock(name, maps.values[:, :, query], _visible(maps.key_tokens))
            for name, maps in blocks.items()
        ],
        colors=current_theme(),
        key=key,
        title=title,
        selected=None if chosen is None else HeadRow(*chosen),
        on_select=lambda row: choose(row.block, row.layer, row.head),
    )


def _visible(tokens: Sequence[str]) -> list[str]:
    return list(map(visible, tokens))


def _head_labels(maps: AttentionMaps) -> list[str]:
    return [f"head {head}" for head in range(maps.n_heads)]


def _value_label(maps: AttentionMaps) -> str:
    return "attention weight" if maps.measure == "weights" else "score"


def _closed(maps: AttentionMaps) -> tuple[NDArray[np.uint8], list[str]]:
    """Why cells are closed: (Q, K) numbers of reasons, 0 where they are open, and the reasons in words."""
    codes = np.zeros(maps.allowed.shape, np.uint8)
    reasons = closed_cells(maps)
    for code, where in enumerate(reasons.values(), start=1):
        codes += where * np.uint8(code)
    return codes, [f"masked: {reason}" for reason in reasons]
