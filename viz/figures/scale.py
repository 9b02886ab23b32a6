"""A softmax whose scores are divided by different numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from viz.figures._style import finish
from viz.figures.attention import KEY_AXIS
from viz.figures.labels import numbered, tick_step
from viz.theme import Theme


def softmax_by_divisor(
    products: NDArray[np.floating],
    divisors: Sequence[float],
    chosen: float,
    key_tokens: Sequence[str],
    *,
    theme: Theme,
    title: str = "",
) -> go.Figure:
    """Draw one query's weights for the chosen divisor and, below, the largest weight for every divisor.

    Args:
        products: (K,) of the query with the keys that it may attend to.
        divisors: in ascending order.
        chosen: one of them.
        key_tokens: K tokens as typed.
    """
    weights = {divisor: _softmax(products / divisor) for divisor in divisors}
    largest = np.array([weights[divisor].max() for divisor in divisors])
    figure = make_subplots(rows=2, cols=1, vertical_spacing=0.28)
    figure.add_bar(
        x=np.arange(len(products), dtype=np.int32),
        y=weights[chosen].astype(np.float32),
        marker={"color": theme.color(0), "line": {"width": 0}},
        name="weight",
        hovertemplate="key %{x}<br>weight <b>%{y}</b><extra></extra>",
        yhoverformat=".4f",
        showlegend=False,
        row=1,
        col=1,
    )
    labels = numbered(key_tokens)
    step = tick_step(len(labels))
    ticks = list(range(0, len(labels), step))
    figure.update_xaxes(tickvals=ticks, ticktext=labels[::step], title=KEY_AXIS, showgrid=False, row=1, col=1)
    figure.update_yaxes(title="weight", range=[0, 1.05], row=1, col=1)
    for name, values, color in (
        ("largest weight", largest, theme.color(0)),
        ("its slope w (1 − w)", largest * (1 - largest), theme.color(2)),
    ):
        figure.add_scatter(
            x=list(divisors),
            y=values.astype(np.float32),
            name=name,
            mode="lines+markers",
            line={"color": color, "width": 2},
            hovertemplate="divided by %{x:.3g}<br><b>%{y}</b><extra></extra>",
            yhoverformat=".4f",
            row=2,
            col=1,
        )
    figure.add_vline(x=chosen, line={"color": theme.text, "width": 1, "dash": "dot"}, row=2, col=1)
    figure.update_xaxes(type="log", title="what the products are divided by", row=2, col=1)
    figure.update_yaxes(title="share, 0 to 1", range=[0, 1.05], row=2, col=1)
    return finish(figure, theme, title, 560, legend=True)


def _softmax(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    exponentials = np.exp(scores.astype(np.float64) - scores.max())
    return exponentials / exponentials.sum()
