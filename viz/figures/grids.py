"""Signed numbers in the cells of a grid, such as layers x positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import color_bar, finish
from viz.figures.labels import DECORATION, REPEATED, escape, pixels, set_ticks
from viz.figures.numbers import written
from viz.theme import Theme, color_range, color_scale

MOST_CHARACTERS = 84
"""Characters of numbers that are legible in one row; with more, the cells show none."""


def signed_grid(
    values: NDArray[np.floating],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    theme: Theme,
    quantity: str,
    axes: tuple[str, str],
    strongest: float | None = None,
    scores: NDArray[np.floating] | None = None,
    chosen: tuple[int, int] | None = None,
) -> go.Figure:
    """Draw a grid of numbers whose colours diverge from 0.

    Args:
        values: (R, C), which give the colours.
        rows: R labels, from the top, as typed.
        columns: C labels.
        quantity: name of the values, with their unit.
        axes: names of rows and columns.
        strongest: the size with the strongest colour, so that grids compare; None: the largest value's.
        scores: (R, C) numbers to write and name in place of the values, where colours compare within a row.
        chosen: row and column of a cell to frame; every cell can then be clicked: the first trace has a point
            for each, row by row.
    """
    low, high = color_range(values, signed=True) if strongest is None else (-strongest, strongest)
    texts = written(values if scores is None else scores, 2)
    fits = len(columns) * max(map(len, texts.ravel().tolist()), default=0) <= MOST_CHARACTERS
    number = f"{quantity} <b>%{{z}}</b>" if scores is None else "score <b>%{customdata}</b>"
    place = f"{axes[0]}: %{{y}}<br>{axes[1]}: %{{x}}<br>"
    figure = go.Figure()
    if chosen is not None:
        _make_clickable(figure, values, chosen, f"{place}{quantity} <b>%{{customdata}}</b>", theme)
    figure.add_heatmap(
        z=values.astype(np.float32),
        zmin=low,
        zmax=high,
        colorscale=color_scale(theme.diverging),
        colorbar=color_bar(quantity, above=True),
        xgap=1,
        ygap=1,
        customdata=None if scores is None else written(scores, 4),
        hovertemplate=f"{place}{number}<extra></extra>" if chosen is None else None,
        hoverinfo=None if chosen is None else "skip",
        zhoverformat=".4f",
        text=texts if fits or scores is not None else None,
        texttemplate="%{text}" if fits else None,
        meta=REPEATED if scores is None else None,
        name=quantity,
    )
    set_ticks(figure, "x", [escape(label) for label in columns], title=axes[1])
    set_ticks(figure, "y", [escape(label) for label in rows], title=axes[0])
    figure.update_xaxes(title_standoff=40)  # plotly counts it from the axis: less would be on short labels
    # Where numbers don't fit in a row, labels don't either: they are slanted.
    per_row, around = (34, 210) if fits else (22, 300)
    return finish(figure, theme, "", pixels(len(rows), per_row=per_row, around=around))


def _make_clickable(
    figure: go.Figure, values: NDArray[np.floating], chosen: tuple[int, int], hover: str, theme: Theme
) -> None:
    """Add an invisible point per cell, as plotly selects no cells of a heatmap, and frame the chosen one."""
    row, column = np.indices(values.shape, dtype=np.int32)
    figure.add_scatter(
        x=column.ravel(),
        y=row.ravel(),
        mode="markers",
        marker={"symbol": "square", "size": 20, "opacity": 0, "color": theme.text},
        customdata=written(values, 4).ravel(),
        hovertemplate=f"{hover}<extra></extra>",
        name="cells",
        showlegend=False,
        meta=DECORATION,
    )
    figure.add_shape(
        type="rect",
        x0=chosen[1] - 0.5,
        x1=chosen[1] + 0.5,
        y0=chosen[0] - 0.5,
        y1=chosen[0] + 0.5,
        line={"color": theme.accent, "width": 3},
    )
