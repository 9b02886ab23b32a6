"""The terms of a sum as bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import finish
from viz.figures.labels import DECORATION, escape, pixels, set_ticks
from viz.figures.numbers import written
from viz.theme import Theme


def term_bars(
    values: NDArray[np.floating],
    labels: Sequence[str],
    *,
    theme: Theme,
    quantity: str,
    axis: str,
    title: str = "",
) -> go.Figure:
    """Draw signed numbers as bars to the right (positive) and left, from top to bottom.

    Numbers are to the right of the axis even for bars to the left, whose labels leave no room on a phone.

    Args:
        values: (n,), such as the terms of a sum.
        labels: n names, as typed.
        quantity: name of the values, with their unit.
        axis: title of the axis of the terms.
    """
    colors = np.where(values < 0, theme.diverging[1], theme.diverging[-2])
    rows = np.arange(len(labels), dtype=np.int32)
    figure = go.Figure().add_bar(
        x=values.astype(np.float32),
        y=rows,
        orientation="h",
        marker={"color": colors, "line": {"width": 0}},
        name=quantity,
        hovertemplate=f"%{{y}}<br>{quantity} <b>%{{x}}</b><extra></extra>",
        xhoverformat="+.4f",
        showlegend=False,
    )
    figure.add_scatter(
        x=values.clip(min=0).astype(np.float32),
        y=rows,
        mode="text",
        text=[f" {text}" for text in written(values, 2)],
        textposition="middle right",
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
        meta=DECORATION,
    )
    set_ticks(figure, "y", [escape(label) for label in labels], title=axis)
    figure.update_xaxes(title=quantity, exponentformat="none", range=_with_room(values))
    return finish(figure, theme, title, pixels(len(labels), per_row=22, most=1200))


def _with_room(values: NDArray[np.floating]) -> list[float]:
    """The range of an axis with room for the numbers on the right."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    span = high - low or 1.0
    return [low - 0.02 * span if low < 0 else 0.0, high + 0.4 * span]
