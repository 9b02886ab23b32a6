"""A band between two curves."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures.labels import DECORATION


def translucent(color: str, opacity: float) -> str:
    """#rrggbb with an opacity from 0 to 1, as CSS writes it."""
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def band(
    figure: go.Figure,
    x: Sequence[str] | NDArray[np.integer],
    low: NDArray[np.floating],
    high: NDArray[np.floating],
    color: str,
    name: str,
) -> None:
    """Fill between two curves over the same x, under one entry of the legend: the name, "least to most"."""
    fill = translucent(color, 0.2)
    for end, y, filling in (("least", low, None), ("most", high, "tonexty")):
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y.astype(np.float32),
                mode="lines",
                line={"width": 0},
                fill=filling,
                fillcolor=fill,
                name=f"{name}: {end}",
                legendgroup=name,
                showlegend=False,
                hoverinfo="skip",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=[None],
            y=[None],
            mode="lines",
            line={"width": 12, "color": fill},
            name=f"{name}: least to most",
            legendgroup=name,
            meta=DECORATION,
        )
    )
