"""Signed numbers in the cells of a grid, such as layers x positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import color_bar, finish
from viz.figures.labels import REPEATED, escape, pixels, set_ticks
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
    """
    low, high = color_range(values, signed=True) if strongest is None else (-strongest, strongest)
    texts = written(values if scores is None else scores, 2)
    fits = len(columns) * max(map(len, texts.ravel().tolist()), default=0) <= MOST_CHARACTERS
    number = f"{quantity} <b>%{{z}}</b>" if scores is None else "score <b>%{customdata}</b>"
    figure = go.Figure().add_heatmap(
        z=values.astype(np.float32),
        zmin=low,
        zmax=high,
        colorscale=color_scale(theme.diverging),
        colorbar=color_bar(quantity, above=True),
        xgap=1,
        ygap=1,
        customdata=None if scores is None else written(scores, 4),
        hovertemplate=f"{axes[0]}: %{{y}}<br>{axes[1]}: %{{x}}<br>{number}<extra></extra>",
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
