"""Where an output word came from: pictures compared word by word, and source next to prefix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import bar_marker, color_bar, finish
from viz.figures.labels import escape, pixels, set_ticks, set_token_ticks
from viz.figures.numbers import written
from viz.theme import Theme, color_scale

MAX_NUMBERED = 14
"""Words up to which each cell shows its number."""


def picture_strips(
    scores: NDArray[np.floating],
    names: Sequence[str],
    words: Sequence[str],
    *,
    theme: Theme,
    axes: tuple[str, str],
    title: str = "",
) -> go.Figure:
    """Draw one strip per picture over the same words, each coloured up to its own largest score.

    Args:
        scores: (pictures, words), in units of their own.
        names: of the pictures.
        words: as typed.
        axes: titles of the axes of pictures and words.
    """
    largest = np.abs(scores).max(axis=1, keepdims=True)
    shares = scores / np.where(largest > 0, largest, 1)
    quantity = "score / largest in row"
    above = {
        "title": {"text": quantity, "side": "top"},
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": 1,
        "yanchor": "bottom",
    }
    fits = len(words) <= MAX_NUMBERED
    figure = go.Figure().add_heatmap(
        z=shares.astype(np.float32),
        zmin=-1,
        zmax=1,
        colorscale=color_scale(theme.diverging),
        colorbar=color_bar(quantity) | above,
        xgap=1,
        ygap=3,
        customdata=scores.astype(np.float32),
        hovertemplate="%{y}<br>%{x}<br>score <b>%{customdata:.4f}</b><extra></extra>",
        text=written(scores, 2) if fits else None,
        texttemplate="%{text}" if fits else None,
        name=quantity,
    )
    set_ticks(figure, "x", [escape(word) for word in words], title=axes[1])
    set_ticks(figure, "y", [escape(name) for name in names], title=axes[0])
    figure.update_xaxes(title_standoff=40)  # plotly counts it from the axis: less would be on short labels
    return finish(figure, theme, title, pixels(len(names), per_row=40, around=220))


def source_or_prefix(
    source: NDArray[np.floating],
    rests_on_prefix: NDArray[np.bool_],
    words: Sequence[str],
    *,
    theme: Theme,
    title: str = "",
) -> go.Figure:
    """Draw each output word's shares of source and prefix as one bar, and mark some words.

    Args:
        source: (W,) shares of the source, from 0 to 1.
        rests_on_prefix: (W,) words to mark.
        words: W output words.
    """
    figure, places = go.Figure(), np.arange(len(words), dtype=np.int32)
    for index, (name, shares) in enumerate((("source", source), ("prefix", 1 - source))):
        figure.add_bar(
            x=places,
            y=shares.astype(np.float32),
            marker=bar_marker(theme.color(index), theme, striped=index == 1),
            name=name,
            hovertemplate=f"%{{x}}<br>from the {name} <b>%{{y:.1%}}</b><extra></extra>",
        )
    marked = places[rests_on_prefix]
    figure.add_scatter(
        x=marked,
        y=np.full(len(marked), 1.06, dtype=np.float32),
        mode="markers",
        marker={"symbol": "triangle-down", "size": 11, "color": theme.warning},
        name="rests on the prefix alone",
        hovertemplate="%{x}<br>less than twice as probable with the source as without<extra></extra>",
    )
    figure.update_layout(barmode="stack")
    set_token_ticks(figure, "x", words, title="word of the output")
    figure.update_yaxes(
        title="share (ALTI+)", range=[0, 1.12], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".0%"
    )
    return finish(figure, theme, title, 360, legend=True)
