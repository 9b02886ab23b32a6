"""The common style of all figures: theme, title and height, legends, colour bars, bars, lines and bands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures.labels import DECORATION, escape
from viz.theme import FONT_SIZE, TITLE_SIZE, Theme, template

TOOLBAR = 40
"""Pixels of the strip reserved for plotly's toolbar."""


def color_bar(title: str, *, above: bool = False) -> dict[str, object]:
    """Describe the colour bar of a heatmap; the title names the values and their unit.

    It is at the right, or above the picture where long labels leave no room at the right.
    """
    heading = {"text": title, "side": "top" if above else "right", "font": {"size": FONT_SIZE}}
    bar = {"title": heading, "thickness": 16, "outlinewidth": 0}
    place = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom"}
    return bar | place if above else bar


def finish(figure: go.Figure, theme: Theme, title: str, height: int, *, legend: bool = False) -> go.Figure:
    """Put theme, title (plain text, may be empty), height in pixels and a legend on a figure; return it.

    The toolbar is in a strip above the plot, or to its right if a legend is above it. The title then becomes
    the legend's, so that the two never overlap, however many lines the legend takes.
    """
    if legend:
        legend_above(figure)
    toolbar = {"bgcolor": "rgba(0,0,0,0)", "color": theme.muted, "activecolor": theme.text}
    figure.layout.template = template(theme)  # updating it would merge it into plotly's, which is slow
    figure.update_layout(height=height, hovermode="closest", modebar=toolbar)
    if title and legend:
        heading = {"text": escape(title, 120), "side": "top", "font": {"size": TITLE_SIZE}}
        figure.update_layout(legend={"title": heading}, margin={"t": 24})
    elif title:
        place = {"yref": "paper", "y": 1, "yanchor": "bottom", "pad": {"b": 12}}
        figure.update_layout(title={"text": escape(title, 120), **place}, margin={"t": TOOLBAR + 36})
    else:
        figure.update_layout(margin={"t": 24 if legend else TOOLBAR})
    return figure


def bar_marker(color: str, theme: Theme, *, striped: bool = False) -> dict[str, object]:
    """Describe a series' bars; stripes distinguish two series without colour."""
    pattern = {"shape": "/", "bgcolor": color, "fgcolor": theme.background, "size": 9, "solidity": 0.18}
    return {"color": color, "line": {"width": 0}, "pattern": pattern if striped else {}}


def legend_above(figure: go.Figure) -> None:
    """Put the legend above the plot, as narrow screens have no room beside it; move the toolbar right."""
    figure.update_layout(
        showlegend=True,
        modebar={"orientation": "v"},
        margin={"r": TOOLBAR},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
    )


def thin_lines(x: Sequence[float], y: Sequence[float], color: str) -> go.Scatter:
    """Lines that represent no numbers, all in one trace: x and y are NaN after each line."""
    return go.Scatter(
        x=np.array(x, dtype=np.float32),
        y=np.array(y, dtype=np.float32),
        mode="lines",
        line={"color": color, "width": 1},
        hoverinfo="skip",
        showlegend=False,
        meta=DECORATION,
    )


def translucent(color: str, opacity: float) -> str:
    """A colour #rrggbb with an opacity from 0 to 1, in CSS notation."""
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
    """Fill between two curves over the same x; the single legend entry is the name and "least to most"."""
    fill = translucent(color, 0.2)
    for end, y, filling in (("least", low, None), ("most", high, "tonexty")):
        figure.add_scatter(
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
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines",
        line={"width": 12, "color": fill},
        name=f"{name}: least to most",
        legendgroup=name,
        meta=DECORATION,
    )
