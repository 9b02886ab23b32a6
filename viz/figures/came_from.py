"""Where an output word came from: source next to prefix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import bar_marker, finish
from viz.figures.labels import set_token_ticks
from viz.theme import Theme


def source_or_prefix(
    source: NDArray[np.floating],
    needs_no_source: NDArray[np.bool_],
    words: Sequence[str],
    *,
    theme: Theme,
    title: str = "",
) -> go.Figure:
    """Draw each output word's shares of source and prefix as one bar, and mark some words.

    Args:
        source: (W,) shares of the source, from 0 to 1.
        needs_no_source: (W,) words to mark.
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
    marked = places[needs_no_source]
    figure.add_scatter(
        x=marked,
        y=np.full(len(marked), 1.06, dtype=np.float32),
        mode="markers",
        marker={"symbol": "triangle-down", "size": 11, "color": theme.warning},
        name="needs no word of the source",
        hovertemplate="%{x}<br>less than twice as probable with the source as without<extra></extra>",
    )
    figure.update_layout(barmode="stack")
    set_token_ticks(figure, "x", words, title="word of the output")
    figure.update_yaxes(
        title="share (ALTI+)", range=[0, 1.12], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".0%"
    )
    return finish(figure, theme, title, 360, legend=True)
