"""The picture of a patch grid: how far each patch moves the answer to that of the other run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import color_bar, finish
from viz.figures.labels import REPEATED, escape, pixels, set_ticks
from viz.figures.numbers import written
from viz.theme import Theme, color_scale

MAX_NUMBERED = 20
"""Columns up to which each cell shows its number."""


def patch_map(
    shares: NDArray[np.floating],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    theme: Theme,
    axes: tuple[str, str],
    title: str = "",
) -> go.Figure:
    """Draw the shares of a patch grid, coloured from -1 to 1 whatever they are, so that grids compare.

    Args:
        shares: (rows, columns), 0 where a patch changes nothing, 1 where the answer is the other run's.
        rows: names of the rows, as typed.
        columns: names of the columns.
        axes: titles of the axes of rows and columns.
    """
    quantity = "share of the way (0 to 1)"
    bar = color_bar(quantity)
    heading = {"text": quantity, "side": "top"}
    above = {"title": heading, "orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom"}
    fits = len(columns) <= MAX_NUMBERED
    figure = go.Figure().add_heatmap(
        z=shares.astype(np.float32),
        zmin=-1,
        zmax=1,
        colorscale=color_scale(theme.diverging),
        colorbar=bar | above,
        xgap=1,
        ygap=1,
        hovertemplate=f"{axes[0]}: %{{y}}<br>{axes[1]}: %{{x}}<br>{quantity} <b>%{{z}}</b><extra></extra>",
        zhoverformat="+.3f",
        text=written(shares, 2) if fits else None,
        texttemplate="%{text}" if fits else None,
        meta=REPEATED,
        name=quantity,
    )
    set_ticks(figure, "x", [escape(label) for label in columns], title=axes[1])
    set_ticks(figure, "y", [escape(label) for label in rows], title=axes[0])
    figure.update_xaxes(title_standoff=40)  # plotly counts it from the axis: less would be on short labels
    return finish(figure, theme, title, pixels(len(rows), per_row=34, around=210))
