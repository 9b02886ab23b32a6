"""Sums: the terms of a number as bars, and of a product of two sums as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import color_bar, finish
from viz.figures.labels import escape, pixels, set_ticks
from viz.figures.numbers import written
from viz.theme import Theme, color_range, color_scale


def term_bars(
    values: NDArray[np.floating],
    labels: Sequence[str],
    *,
    theme: Theme,
    quantity: str,
    axis: str,
    title: str = "",
) -> go.Figure:
    """Draw the terms of a sum as bars to the right (positive) and left, from top to bottom.

    Args:
        values: (n,) the terms.
        labels: n names, as typed.
        quantity: name of the values, with their unit.
        axis: title of the axis of the terms.
    """
    colors = np.where(values < 0, theme.diverging[1], theme.diverging[-2])
    figure = go.Figure().add_bar(
        x=values.astype(np.float32),
        y=np.arange(len(labels), dtype=np.int32),
        orientation="h",
        marker={"color": colors, "line": {"width": 0}},
        name=quantity,
        hovertemplate=f"%{{y}}<br>{quantity} <b>%{{x}}</b><extra></extra>",
        xhoverformat="+.4f",
        text=[f" {text} " for text in written(values, 2)],
        textposition="outside",
        cliponaxis=False,
        showlegend=False,
    )
    set_ticks(figure, "y", [escape(label) for label in labels], title=axis)
    figure.update_xaxes(title=quantity, exponentformat="none", range=_with_room(values))
    return finish(figure, theme, title, pixels(len(labels), per_row=22, most=1200))


def pair_matrix(
    values: NDArray[np.floating],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    theme: Theme,
    quantity: str,
    axes: tuple[str, str],
    title: str = "",
) -> go.Figure:
    """Draw the terms of a product of two sums: a cell is one part times another.

    Args:
        values: (rows, columns) the terms.
        rows: names of the first factor's parts, as typed.
        columns: names of the second factor's parts.
        quantity: name of the values.
        axes: titles of the axes of rows and columns.
    """
    low, high = color_range(values, signed=True)
    figure = go.Figure().add_heatmap(
        z=values.astype(np.float32),
        zmin=low,
        zmax=high,
        colorscale=color_scale(theme.diverging),
        colorbar=_above(color_bar(quantity)),
        xgap=1,
        ygap=1,
        hovertemplate=f"{axes[0]}: %{{y}}<br>{axes[1]}: %{{x}}<br>{quantity} <b>%{{z}}</b><extra></extra>",
        zhoverformat="+.4f",
    )
    set_ticks(figure, "x", [escape(label) for label in columns], title=axes[1])
    set_ticks(figure, "y", [escape(label) for label in rows], title=axes[0])
    return finish(figure, theme, title, pixels(len(rows), per_row=22, around=300))


def _above(bar: dict[str, Any]) -> dict[str, Any]:
    """A colour bar above the picture: long labels leave no room at its right."""
    title = bar["title"] | {"side": "top"}
    return bar | {"title": title, "orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom"}


def _with_room(values: NDArray[np.floating]) -> list[float]:
    """The range of an axis with room for the numbers next to the bars."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    span = high - low or 1.0
    return [low - 0.45 * span if low < 0 else 0.0, high + 0.3 * span]
