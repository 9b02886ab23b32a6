"""Closed (masked) cells, drawn the same way in every figure: grey, hatched, with the reason on hover.

`closed` always maps a reason to a boolean (Q, K) array, True where that reason closes a cell:
{"future: the key comes after the query": ..., "padding of sentence 2": ...}.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import thin_lines
from viz.figures.labels import DECORATION
from viz.theme import Theme

Closed = Mapping[str, NDArray[np.bool_]]

MAX_HATCHED = 64
"""Rows or columns up to which every diagonal gets a hatch line; larger matrices get every n-th."""


def any_closed(closed: Closed | None, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """The cells that any reason closes.

    Raises:
        ValueError: a reason's array has another shape than the values.
    """
    union = np.zeros(shape, dtype=bool)
    for reason, where in (closed or {}).items():
        if where.shape != shape:
            raise ValueError(f'"{reason}" marks {where.shape} cells of a matrix of {shape}')
        union |= where
    return union


def opened(values: NDArray[np.floating], closed: Closed | None) -> NDArray[np.float32]:
    """Copy the values as float32, with NaN (not drawn) for closed cells and infinite scores."""
    numbers = np.array(values, dtype=np.float32)
    numbers[any_closed(closed, numbers.shape) | ~np.isfinite(numbers)] = np.nan
    return numbers


def add_closed(figure: go.Figure, closed: Closed | None, theme: Theme, hover: str, **place: int) -> None:
    """Draw the closed cells over a heatmap of the same shape.

    Args:
        figure: the figure with the heatmap.
        closed: reason -> cells; a cell with two reasons is drawn once, for the first.
        hover: first lines of the hover text, as a plotly template.
        place: row and col of the subplot, if there are several.
    """
    if not closed:
        return
    taken = np.zeros(next(iter(closed.values())).shape, dtype=bool)
    for reason, where in closed.items():
        mine = where & ~taken
        taken |= mine
        if mine.any():
            figure.add_heatmap(
                z=np.where(mine, np.float32(1), np.float32(np.nan)),
                colorscale=[[0, theme.masked], [1, theme.masked]],
                showscale=False,
                hoverongaps=False,
                hovertemplate=f"{hover}<br><b>masked</b>: {reason}<extra></extra>",
                name=f"masked: {reason}",
                meta=DECORATION,
                **place,
            )
    figure.add_trace(hatching(taken, theme), **place)


def hatching(closed: NDArray[np.bool_], theme: Theme) -> go.Scatter:
    """Diagonal lines over the closed cells of a (Q, K) matrix, as one trace.

    Neighbouring cells on a diagonal share a line, so a causal mask costs one line per diagonal.
    """
    rows, columns = closed.shape
    step = max(1, -(-max(rows, columns) // MAX_HATCHED))
    x: list[float] = []
    y: list[float] = []
    for offset in range(-rows + 1, columns, step):
        cells = np.concatenate(([False], np.diagonal(closed, offset), [False])).astype(np.int8)
        edges = np.diff(cells)
        first_row, first_column = max(0, -offset), max(0, offset)
        for start, stop in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
            x += [first_column + start - 0.5, first_column + stop - 0.5, np.nan]
            y += [first_row + start - 0.5, first_row + stop - 0.5, np.nan]
    return thin_lines(x, y, theme.hatch)
