"""The terms of a score: one query's dot product with one key."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import finish
from viz.figures.numbers import written
from viz.theme import Theme


def dot_product_terms(
    q: NDArray[np.floating],
    k: NDArray[np.floating],
    *,
    theme: Theme,
    title: str = "",
    scale: bool | float = True,
) -> go.Figure:
    """Draw the terms q_d k_d / sqrt(d_head) as bars, and their running sum, which ends at the score.

    Args:
        q: (d_head,) the query's vector in one head.
        k: (d_head,) the key's vector.
        scale: True if the model divides by sqrt(d_head), False if it doesn't, or its own factor.
    """
    dimension = np.arange(len(q), dtype=np.int32)
    factor = 1 / math.sqrt(len(q)) if scale is True else scale or 1
    terms = (q * k * factor).astype(np.float32)
    divided, by = (" / √d_head", f" / √{len(q)}") if scale is True else ("", "")
    if scale not in (True, False):
        divided = by = f" × {scale:g}"
    figure = go.Figure()
    figure.add_bar(
        x=dimension,
        y=terms,
        name=f"term q<sub>d</sub> k<sub>d</sub>{divided}",
        marker={"color": np.where(terms < 0, theme.diverging[1], theme.diverging[-2]), "line": {"width": 0}},
        customdata=written(np.stack((q, k), axis=-1)),
        hovertemplate="dimension %{x}<br>q %{customdata[0]} × k %{customdata[1]}"
        f"{by}<br>= <b>%{{y}}</b><extra></extra>",
        yhoverformat=".4f",
    )
    figure.add_scatter(
        x=dimension,
        y=terms.cumsum(),
        name="sum so far",
        mode="lines",
        line={"color": theme.text, "width": 2, "shape": "hv"},
        yhoverformat=".4f",
        hovertemplate="sum up to dimension %{x}<br><b>%{y}</b><extra></extra>",
    )
    figure.update_xaxes(title="dimension of the head", showgrid=False)
    figure.update_yaxes(title="part of the score (no unit)")
    return finish(figure, theme, title, 340, legend=True)
