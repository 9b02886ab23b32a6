"""Pictures of attention: one head, the heads of a layer, all layers and heads, two models side by side.

In every picture rows look (queries) and columns are looked at (keys). Cells closed by a mask are grey and
hatched, with the reason on hover. NaN and infinite values are not drawn. Axes: L layers, H heads, Q query
position, K key position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._closed import Closed, add_closed, opened
from viz.figures._style import color_bar, finish
from viz.figures._tiles import Tiles, block_size, pool, pool_closed, pool_labels
from viz.figures.labels import REPEATED, escape, numbered, pixels, set_ticks, set_token_ticks, tick_step
from viz.figures.numbers import written
from viz.theme import Theme, color_range, color_scale

QUERY_AXIS = "query: the token that looks"
KEY_AXIS = "key: the token that is looked at"
TOKENS = "query: %{y}<br>key: %{x}"
"""The name of a cell in its hover text, as a plotly template."""
MAX_NUMBERED = 22
"""Columns up to which each cell shows its number; with more columns it would be too small to read."""


@dataclass(frozen=True)
class Quantity:
    """What an attention picture shows.

    Attributes:
        name: title of the colour bar, with the unit.
        meaning: text that follows the number on hover.
        signed: true if values may be negative; the colours then diverge from 0.
    """

    name: str
    meaning: str
    signed: bool


WEIGHTS = Quantity(
    "attention weight (share of the row, 0 to 1)", "of this query's attention; its row sums to 1", False
)


MOVED = Quantity(
    "length of the moved vector (no unit)", "= weight × length of the key's value after W_O", False
)


def quantity_of(measure: Literal["weights", "scores", "masked"], formula: str = "") -> Quantity:
    """The quantity of a measure; `formula` is how the model computes a score."""
    if measure == "weights":
        return WEIGHTS
    if measure == "scores":
        return Quantity(f"score {formula} (no unit)", f"= {formula}, before the mask and the softmax", True)
    return Quantity("score after the mask (no unit)", f"= {formula}; closed cells are −∞", True)


def attention_heatmap(
    values: NDArray[np.floating],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    theme: Theme,
    quantity: Quantity = WEIGHTS,
    closed: Closed | None = None,
    value_range: tuple[float, float] | None = None,
    title: str = "",
) -> go.Figure:
    """Draw one head.

    Args:
        values: (Q, K) weights or scores.
        query_tokens: Q tokens, as typed.
        key_tokens: K tokens, as typed.
        quantity: what the values are.
        closed: reason -> (Q, K) True where the mask closes the cell.
        value_range: the ends of the colour scale; None: `color_range` of these values.

    Raises:
        ValueError: the values are not a matrix of these tokens.
    """
    _check(values.shape, query_tokens, key_tokens)
    tiles = Tiles(1, 1, len(query_tokens), len(key_tokens), 0, 0)
    figure = _tiled(tiles, [opened(values, closed)], closed or {}, TOKENS, theme, quantity, value_range)
    set_token_ticks(figure, "x", key_tokens, title=KEY_AXIS)
    set_token_ticks(figure, "y", query_tokens, title=QUERY_AXIS)
    return finish(figure, theme, title, pixels(len(query_tokens), per_row=34))


def side_by_side(
    values: NDArray[np.floating],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    theme: Theme,
    headings: Sequence[str] = (),
    quantity: Quantity = WEIGHTS,
    closed: Closed | None = None,
    value_range: tuple[float, float] | None = None,
    title: str = "",
    columns: int = 4,
) -> go.Figure:
    """Draw the heads of one layer, or one head of several models, side by side with one colour scale.

    The values are (N, Q, K), each matrix under its heading ("head 0" and so on by default), `columns` of them
    in a row; all other arguments are as for attention_heatmap.

    Raises:
        ValueError: the values are not one matrix of these tokens for each heading.
    """
    headings = headings or [f"head {head}" for head in range(len(values))]
    count = len(headings)
    if len(values) != count:
        raise ValueError(f"{count} headings for {len(values)} matrices")
    _check(values.shape[1:], query_tokens, key_tokens)
    columns = min(columns, count)
    side = block_size(count, len(query_tokens), len(key_tokens))
    maps = [pool(opened(value, closed), side) for value in values]
    queries, keys = maps[0].shape
    rows = -(-count // columns)
    tiles = Tiles(rows, columns, queries, keys, ceil(queries / 5), ceil(keys / 12))
    shut = pool_closed(closed or {}, side)
    figure = _tiled(tiles, maps, shut, TOKENS, theme, quantity, value_range)
    _label_tiles(figure, tiles, query_tokens, key_tokens, side)
    for index, heading in enumerate(headings):
        row, column = divmod(index, columns)
        figure.add_annotation(
            x=tiles.left(column) - 0.5,
            y=tiles.top(row) - 0.5,
            text=f"<b>{escape(heading, 60)}</b>",
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
        )
    return finish(figure, theme, title, pixels(tiles.height, per_row=max(6, 26 // rows)))


def attention_grid(
    values: NDArray[np.floating],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    theme: Theme,
    quantity: Quantity = WEIGHTS,
    closed: Closed | None = None,
    value_range: tuple[float, float] | None = None,
    title: str = "",
) -> go.Figure:
    """Draw all layers (rows of tiles) and heads (columns of tiles) at a glance, with one colour scale.

    Long sentences are pooled: a cell then shows the strongest value of a block, which is named on hover.

    The values are (L, H, Q, K); all other arguments are as for attention_heatmap.
    """
    layers, heads = values.shape[:2]
    _check(values.shape[2:], query_tokens, key_tokens)
    side = block_size(layers * heads, len(query_tokens), len(key_tokens))
    maps = [pool(opened(value, closed), side) for layer in values for value in layer]
    queries = pool_labels(numbered(query_tokens), side)
    keys = pool_labels(numbered(key_tokens), side)
    tiles = Tiles(layers, heads, len(queries), len(keys), ceil(len(queries) / 12), ceil(len(keys) / 12))
    shut = pool_closed(closed or {}, side)
    figure = _tiled(tiles, maps, shut, "%{y}<br>%{x}", theme, quantity, value_range)
    columns = tiles.labels("x", [f"head {head}, key: " for head in range(heads)], keys)
    rows = tiles.labels("y", [f"layer {layer}, query: " for layer in range(layers)], queries)
    drawn_columns = {tiles.left(head) + (tiles.keys - 1) / 2: str(head) for head in range(heads)}
    drawn_rows = {tiles.top(layer) + (tiles.queries - 1) / 2: str(layer) for layer in range(layers)}
    set_ticks(figure, "x", columns, title="head (in each tile a column is a key)", drawn=drawn_columns)
    set_ticks(figure, "y", rows, title="layer (in each tile a row is a query)", drawn=drawn_rows)
    return finish(figure, theme, title, pixels(layers, per_row=130))


def _check(shape: tuple[int, ...], query_tokens: Sequence[str], key_tokens: Sequence[str]) -> None:
    if shape != (len(query_tokens), len(key_tokens)):
        raise ValueError(
            f"the matrix is {shape}, but there are {len(query_tokens)} query tokens "
            f"and {len(key_tokens)} key tokens"
        )


def _tiled(
    tiles: Tiles,
    maps: Sequence[NDArray[np.float32]],
    closed: Closed,
    hover: str,
    theme: Theme,
    quantity: Quantity,
    value_range: tuple[float, float] | None,
) -> go.Figure:
    """Draw maps as tiles with the same closed cells; `hover` names a cell, as a plotly template."""
    numbers = tiles.assemble(maps)
    low, high = value_range or color_range(numbers, signed=quantity.signed)
    fits = numbers.shape[1] <= MAX_NUMBERED
    figure = go.Figure().add_heatmap(
        z=numbers,
        zmin=low,
        zmax=high,
        colorscale=color_scale(theme.diverging if quantity.signed else theme.sequential),
        colorbar=color_bar(quantity.name),
        hoverongaps=False,
        zhoverformat=".4f",
        hovertemplate=f"{hover}<br><b>%{{z}}</b> {quantity.meaning}<extra></extra>",
        text=np.where(np.isfinite(numbers), written(numbers, 2), "") if fits else None,
        texttemplate="%{text}" if fits else None,
        meta=REPEATED,
        name=quantity.name,
    )
    add_closed(figure, tiles.repeat(closed, len(maps)), theme, hover)
    figure.add_trace(tiles.frames(len(maps), theme))
    return figure


def _label_tiles(
    figure: go.Figure, tiles: Tiles, query_tokens: Sequence[str], key_tokens: Sequence[str], side: int
) -> None:
    """Draw token ticks along every tile row and column, as many as are legible."""
    lefts = [tiles.left(column) for column in range(tiles.columns)]
    tops = [tiles.top(row) for row in range(tiles.rows)]
    axes = (("x", lefts, key_tokens, KEY_AXIS), ("y", tops, query_tokens, QUERY_AXIS))
    for axis, starts, tokens, title in axes:
        cells = pool_labels(numbered(tokens), side)
        drawn: dict[float, str] = {
            start + position: escape(tokens[position * side])
            for start in starts
            for position in range(0, len(cells), tick_step(len(cells) * len(starts)))
        }
        set_ticks(figure, axis, tiles.labels(axis, [""] * len(starts), cells), title=title, drawn=drawn)
