"""The last touch of every figure: its theme, its title and its height."""

from __future__ import annotations

import plotly.graph_objects as go

from viz.figures.labels import escape
from viz.theme import FONT_SIZE, Theme, template


def color_bar(title: str) -> dict[str, object]:
    """Describe the colour bar of a heatmap; the title says what the values are, with their unit."""
    heading = {"text": title, "side": "right", "font": {"size": FONT_SIZE}}
    return {"title": heading, "thickness": 16, "outlinewidth": 0}


TOOLBAR = 40
"""Pixels of the strip that plotly's toolbar has for itself."""


def finish(figure: go.Figure, theme: Theme, title: str, height: int) -> go.Figure:
    """Put the theme, the title (plain text, may be empty) and the height in pixels on a figure; return it.

    The toolbar has a strip above the plot, or beside it where a legend lies above.
    """
    toolbar = {"bgcolor": "rgba(0,0,0,0)", "color": theme.muted, "activecolor": theme.text}
    figure.layout.template = template(theme)  # to update it would merge it into plotly's, which takes long
    figure.update_layout(height=height, hovermode="closest", modebar=toolbar)
    has_legend = bool(figure.layout.showlegend)
    if title and has_legend:
        figure.update_layout(title={"text": escape(title, 120)})
    elif title:
        place = {"yref": "paper", "y": 1, "yanchor": "bottom", "pad": {"b": 12}}
        figure.update_layout(title={"text": escape(title, 120), **place}, margin={"t": TOOLBAR + 36})
    else:
        figure.update_layout(margin={"t": 24 if has_legend else TOOLBAR})
    return figure


def bar_marker(color: str, theme: Theme, *, striped: bool = False) -> dict[str, object]:
    """Describe a series' bars; stripes tell two series apart for those who don't see their colours."""
    pattern = {"shape": "/", "bgcolor": color, "fgcolor": theme.background, "size": 9, "solidity": 0.18}
    return {"color": color, "line": {"width": 0}, "pattern": pattern if striped else {}}


def legend_above(figure: go.Figure) -> None:
    """Lay the legend in a row over the plot; beside it, it would take width that a narrow screen lacks.

    The toolbar, which would cover it, goes to the right.
    """
    figure.update_layout(
        showlegend=True,
        modebar={"orientation": "v"},
        margin={"r": TOOLBAR},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
    )
