"""Figures of interventions: the answer as more heads are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import finish
from viz.figures.labels import escape
from viz.theme import Theme


def kept_heads_curve(
    answers: NDArray[np.floating],
    names: Sequence[str],
    *,
    theme: Theme,
    quantity: str,
    title: str = "",
) -> go.Figure:
    """Draw the answer if only the first k heads are on.

    Args:
        answers: (heads + 1,) from no head to all.
        names: the heads in the order in which they are added.
        quantity: name of the answer, with its unit.
    """
    k = np.arange(len(answers), dtype=np.int32)
    figure = go.Figure()
    figure.add_hline(y=float(answers[-1]), line={"color": theme.muted, "dash": "dot", "width": 1})
    figure.add_scatter(
        x=k,
        y=answers.astype(np.float32),
        mode="lines+markers",
        line={"color": theme.color(0), "width": 2},
        marker={"size": 5},
        customdata=["no head", *(f"+ {escape(name)}" for name in names)],
        hovertemplate=f"%{{x}} heads on (%{{customdata}})<br>{quantity} <b>%{{y}}</b><extra></extra>",
        yhoverformat=".3f",
        name="answer",
        showlegend=False,
    )
    figure.update_xaxes(title="heads kept, those that cost most first", rangemode="tozero")
    figure.update_yaxes(title=quantity, exponentformat="none")
    return finish(figure, theme, title, 340)
