"""Pictures of what the decoder says next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._finish import color_bar, finish
from viz.figures.labels import escape, numbered, pixels, set_ticks
from viz.theme import Theme, color_scale


def next_words(
    words: Sequence[str],
    probabilities: NDArray[np.floating],
    *,
    chosen: int | None = None,
    theme: Theme,
    title: str = "",
) -> go.Figure:
    """Draw the best k next tokens of one step, as bars.

    Args:
        words: k tokens, best first.
        probabilities: (k,) of the softmax over the whole vocabulary.
        chosen: which of them was taken; None when it is not among them.
        theme: the look.
        title: of the figure.
    """
    colors = [theme.accent if index == chosen else theme.muted for index in range(len(words))]
    labels = [f"{escape(word)}{' ← chosen' if index == chosen else ''}" for index, word in enumerate(words)]
    figure = go.Figure(
        go.Bar(
            x=np.asarray(probabilities, dtype=np.float32) * 100,
            y=np.arange(len(words), dtype=np.int32),
            orientation="h",
            marker={"color": colors, "line": {"width": 0}},
            texttemplate="%{x:.1f} %",
            textposition="outside",
            cliponaxis=False,
            name="next token",
            hovertemplate="%{y}<br>probability <b>%{x:.3f} %</b> (softmax over all tokens)<extra></extra>",
        )
    )
    set_ticks(figure, "y", labels, title="next token")
    figure.update_xaxes(title="probability (%)", range=[0, 112], tickvals=[0, 25, 50, 75, 100])
    return finish(figure, theme, title, pixels(len(words), per_row=34, least=220, around=110))


def step_probabilities(
    candidates: Sequence[Sequence[str]],
    probabilities: NDArray[np.floating],
    chosen: Sequence[str],
    *,
    theme: Theme,
    title: str = "",
) -> go.Figure:
    """Draw the best k candidates of every step: a column a step, the best on top, the darker the surer.

    Args:
        candidates: N steps of k tokens, best first.
        probabilities: (N, k).
        chosen: N tokens, the one taken at each step.
        theme: the look.
        title: of the figure.
    """
    ranks = probabilities.shape[1]
    figure = go.Figure(
        go.Heatmap(
            z=np.asarray(probabilities, dtype=np.float32).T * 100,
            text=[[escape(step[rank], 14) for step in candidates] for rank in range(ranks)],
            texttemplate="%{text}",
            zmin=0,
            zmax=100,
            colorscale=color_scale(theme.sequential),
            colorbar=color_bar("probability (%)"),
            hovertemplate="step %{x}, rank %{y}<br><b>%{text}</b>: %{z:.3f} %<extra></extra>",
            xgap=2,
            ygap=2,
            name="candidates",
        )
    )
    set_ticks(figure, "x", numbered(chosen), title="step, with the token that was taken")
    set_ticks(figure, "y", [str(rank) for rank in range(1, ranks + 1)], title="rank")
    return finish(figure, theme, title, pixels(ranks, per_row=44, least=220, around=120))
