"""Token vectors as points in a plane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import finish
from viz.figures.labels import escape
from viz.theme import Theme


def embedding_map(
    vectors: NDArray[np.floating], tokens: Sequence[str], *, n_marked: int, theme: Theme, title: str = ""
) -> go.Figure:
    """Draw the centred vectors, projected onto the two directions of largest variance.

    Args:
        vectors: (N, D).
        tokens: N, as typed.
        n_marked: this many vectors, from the first, are drawn filled, the others hollow.
    """
    centered = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    left, singular, _ = np.linalg.svd(centered, full_matrices=False)
    shares = singular**2 / max(float((singular**2).sum()), 1e-30)
    plane = np.zeros((len(vectors), 2))
    n = min(2, len(singular))
    plane[:, :n] = left[:, :n] * singular[:n]
    figure = go.Figure()
    for name, part, symbol in (
        ("your tokens", slice(0, n_marked), "circle"),
        ("neighbours", slice(n_marked, None), "circle-open"),
    ):
        labels = [escape(token) for token in tokens[part]]
        figure.add_scatter(
            x=plane[part, 0].astype(np.float32),
            y=plane[part, 1].astype(np.float32),
            mode="markers+text",
            text=labels,
            textposition="top center",
            name=name,
            marker={"symbol": symbol, "size": 11, "color": theme.color(0 if symbol == "circle" else 1)},
            hovertemplate="<b>%{text}</b><br>(%{x:.2f}, %{y:.2f})<extra></extra>",
        )
    x, y = (f"{share:.0%} of the variance" for share in (*shares[:2], 0.0, 0.0)[:2])
    figure.update_xaxes(title=f"first direction ({x})", zeroline=False)
    figure.update_yaxes(title=f"second direction ({y})", zeroline=False)
    return finish(figure, theme, title, 460, legend=True)
