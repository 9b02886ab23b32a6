"""One number per token, as bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import finish
from viz.figures.labels import set_token_ticks
from viz.theme import Theme


def token_bars(
    values: NDArray[np.floating],
    tokens: Sequence[str],
    *,
    theme: Theme,
    quantity: str,
    axis: str = "token",
    title: str = "",
) -> go.Figure:
    """Draw one bar per token.

    Args:
        values: (T,).
        tokens: T, as typed.
        quantity: name of the values, with their unit.
        axis: title of the tokens' axis.
    """
    figure = go.Figure().add_bar(
        x=np.arange(len(tokens), dtype=np.int32),
        y=values.astype(np.float32),
        marker={"color": theme.color(0), "line": {"width": 0}},
        name=quantity,
        hovertemplate=f"%{{x}}<br>{quantity} <b>%{{y}}</b><extra></extra>",
        yhoverformat=".4f",
        showlegend=False,
    )
    set_token_ticks(figure, "x", tokens, title=axis)
    figure.update_yaxes(title=quantity, exponentformat="none")
    return finish(figure, theme, title, 320)
