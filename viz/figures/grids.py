"""A number for each cell of a grid, such as layers x positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import color_bar, finish
from viz.figures.attention import MAX_NUMBERED
from viz.figures.labels import pixels, set_token_ticks
from viz.figures.numbers import written
from viz.theme import Theme, color_range, color_scale


def value_grid(
    values: NDArray[np.floating],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    theme: Theme,
    quantity: str,
    axes: tuple[str, str],
    title: str = "",
) -> go.Figure:
    """Draw a grid of signed numbers.

    Args:
        values: (R, C).
        rows: R labels, from the top.
        columns: C labels.
        quantity: name of the values, with their unit.
        axes: names of rows and columns.
    """
    low, high = color_range(values, signed=True)
    fits = len(columns) <= MAX_NUMBERED
    figure = go.Figure().add_heatmap(
        z=values.astype(np.float32),
        zmin=low,
        zmax=high,
        colorscale=color_scale(theme.diverging),
        colorbar=color_bar(quantity),
        zhoverformat=".4f",
        hovertemplate=f"{axes[0]}: %{{y}}<br>{axes[1]}: %{{x}}<br>{quantity} <b>%{{z}}</b><extra></extra>",
        text=written(values, 2) if fits else None,
        texttemplate="%{text}" if fits else None,
        name=quantity,
    )
    set_token_ticks(figure, "x", columns, title=axes[1])
    set_token_ticks(figure, "y", rows, title=axes[0])
    return finish(figure, theme, title, pixels(len(rows), per_row=34))
