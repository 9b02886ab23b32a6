"""Two runs of one sentence: the distance of each stage, and a matrix of each run side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from viz.figures._style import color_bar, finish
from viz.figures.labels import escape, numbered, pixels, tick_step
from viz.theme import Theme, color_range, color_scale

LEAST_HEIGHT = 300


def change_by_stage(
    sizes: NDArray[np.floating],
    stages: Sequence[str],
    parts: Sequence[str],
    *,
    theme: Theme,
    title: str = "",
) -> go.Figure:
    """Draw how far each stage of a run is from the other run's, in the order of the forward pass.

    Args:
        sizes: (N,), from 0 (equal) to 1 (nothing in common).
        stages: N names.
        parts: N parts of the model, one per stage; each is labelled where it begins.
    """
    figure = go.Figure().add_bar(
        x=np.arange(len(sizes), dtype=np.int32),
        y=np.asarray(sizes, np.float32),
        customdata=list(stages),
        marker={"color": theme.color(1), "line": {"width": 0}},
        name="change",
        hovertemplate="%{customdata}<br>change <b>%{y}</b><extra></extra>",
        yhoverformat=".4f",
    )
    starts = [place for place, part in enumerate(parts) if place == 0 or part != parts[place - 1]]
    figure.update_xaxes(
        tickvals=starts,
        ticktext=[parts[place] for place in starts],
        autotickangles=[0, -45, -90],
        showgrid=False,
        range=[-0.5, len(sizes) - 0.5],
        title="part of the model, in the order of the forward",
    )
    figure.update_yaxes(title="change, 0 to 1", range=[0, 1.05])
    return finish(figure, theme, title, LEAST_HEIGHT + 40)


def token_matrices(
    matrices: Mapping[str, NDArray[np.floating]],
    tokens: Sequence[str],
    *,
    quantity: str,
    theme: Theme,
    title: str = "",
) -> go.Figure:
    """Draw matrices with one row per token and one column per dimension, with one colour scale.

    Cells with NaN or infinite values are empty.

    Args:
        matrices: heading -> (T, D).
        tokens: T, as typed.
        quantity: name of the numbers.
    """
    low, high = color_range(np.concatenate([m.ravel() for m in matrices.values()]), signed=True)
    figure = make_subplots(rows=1, cols=len(matrices), subplot_titles=list(matrices), horizontal_spacing=0.06)
    for column, (heading, matrix) in enumerate(matrices.items(), start=1):
        figure.add_heatmap(
            z=np.where(np.isfinite(matrix), matrix, np.nan).astype(np.float32),
            zmin=low,
            zmax=high,
            colorscale=color_scale(theme.diverging),
            colorbar=color_bar(quantity),
            showscale=column == len(matrices),
            hoverongaps=False,
            zhoverformat=".4f",
            customdata=np.repeat(np.array(numbered(tokens), dtype=object)[:, None], matrix.shape[1], axis=1),
            hovertemplate=f"%{{customdata}}<br>dimension %{{x}}<br>{heading} <b>%{{z}}</b><extra></extra>",
            name=heading,
            row=1,
            col=column,
        )
    ticks = list(range(0, len(tokens), tick_step(len(tokens))))
    names = [escape(tokens[place]) for place in ticks]
    figure.update_yaxes(tickvals=ticks, ticktext=names, range=[len(tokens) - 0.5, -0.5], showgrid=False)
    figure.update_yaxes(title="token", col=1)
    for column in range(2, len(matrices) + 1):
        figure.update_yaxes(showticklabels=False, ticks="", col=column)
    figure.update_xaxes(title="dimension", showgrid=False)
    return finish(figure, theme, title, pixels(len(tokens), per_row=26))
