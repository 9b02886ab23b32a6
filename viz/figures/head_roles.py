"""Heads as points: two numbers of each, coloured by attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from viz.figures._style import finish
from viz.figures.labels import escape
from viz.theme import SYMBOLS, Theme


def head_scatter(
    groups: Mapping[str, Sequence[tuple[float, float, str]]],
    *,
    theme: Theme,
    x: str,
    y: str,
    chosen: tuple[float, float] | None = None,
    title: str = "",
) -> go.Figure:
    """Draw one point per head.

    Args:
        groups: by attention, its heads: both numbers, and the head in words. Empty ones only keep their
            colour.
        x, y: what the numbers are.
        chosen: the point to circle.
    """
    figure = go.Figure()
    for place, (name, points) in enumerate(groups.items()):
        if not points:
            continue
        figure.add_scatter(
            x=[point[0] for point in points],
            y=[point[1] for point in points],
            mode="markers",
            marker={
                "symbol": SYMBOLS[place % len(SYMBOLS)],
                "size": 11,
                "color": theme.color(place),
                "line": {"width": 1, "color": theme.background},
            },
            name=escape(name, 60),
            text=[escape(point[2], 120) for point in points],
            hovertemplate=f"<b>%{{text}}</b><br>{x} %{{x}}<br>{y} %{{y}}<extra></extra>",
            xhoverformat=".3f",
            yhoverformat=".3f",
        )
    if chosen is not None:
        figure.add_scatter(
            x=[chosen[0]],
            y=[chosen[1]],
            mode="markers",
            marker={"symbol": "circle-open", "size": 22, "line": {"width": 2}, "color": theme.text},
            name="chosen",
            hoverinfo="skip",
            showlegend=False,
        )
    axis = {"range": [-0.04, 1.04], "zeroline": False}
    figure.update_xaxes(title=x, **axis)
    figure.update_yaxes(title=y, **axis)
    return finish(figure, theme, title, 460, legend=True)
