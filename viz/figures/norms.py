"""Pictures of layer normalization and of the residual stream that it keeps in bounds.

Axes: T tokens, D dimensions (d_model), P points along the forward. Statistics are over a token's D numbers.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from viz.figures._style import band, finish, translucent
from viz.figures.labels import escape, numbered
from viz.theme import DASHES, SYMBOLS, Theme

Array = NDArray[np.floating]
OPEN_DIAMOND = {"symbol": "diamond-open", "size": 15, "line": {"width": 2.5}}
"""The normalized numbers: around those after the norm, which are equal before training."""


def norm_statistics(
    means: Mapping[str, Array],
    spreads: Mapping[str, Array],
    tokens: Sequence[str],
    *,
    theme: Theme,
    title: str = "",
    spread: str = "standard deviation",
) -> go.Figure:
    """Draw the mean and spread of each token's D numbers at several stages of one norm.

    Args:
        means: stage ("before", "after", ...) -> (T,).
        spreads: the same stages -> (T,).
        tokens: T tokens as typed.
        spread: name of the spread.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    labels = numbered(tokens)
    for row, (what, stages) in enumerate((("mean", means), (spread, spreads)), start=1):
        for index, (stage, values) in enumerate(stages.items()):
            figure.add_scatter(
                x=labels,
                y=values.astype(np.float32),
                mode="lines+markers",
                name=stage,
                legendgroup=stage,
                showlegend=row == 1,
                marker=OPEN_DIAMOND if index == 1 else {"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 7},
                line={"color": theme.color(index), "width": 1.5, "dash": "dot"},
                yhoverformat=".4f",
                hovertemplate=f"%{{x}}<br>{what} {stage}: <b>%{{y}}</b><extra></extra>",
                row=row,
                col=1,
            )
    # Categories: plotly labels as many as fit, and hovering names each.
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_xaxes(title="token, with its position", autotickangles=[0, -45, -90], row=2, col=1)
    figure.update_yaxes(title="mean (no unit)", row=1, col=1)
    figure.update_yaxes(title=f"{spread} (no unit)", rangemode="tozero", row=2, col=1)
    return finish(figure, theme, title, 560, legend=True)


def value_distribution(
    stages: Mapping[str, Array], *, theme: Theme, title: str = "", bins: int = 60
) -> go.Figure:
    """Draw the distribution of the numbers at several stages of one norm: stage -> array of any shape.

    All stages have the same bins, so areas are comparable; NaN and infinite values are left out.
    """
    finite = {stage: values[np.isfinite(values)].ravel() for stage, values in stages.items()}
    everything = np.concatenate([np.zeros(1), *finite.values()])
    low, high = float(everything.min()), float(everything.max())
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    centers = ((edges[1:] + edges[:-1]) / 2).astype(np.float32)
    figure = go.Figure()
    for index, (stage, values) in enumerate(finite.items()):
        share = np.histogram(values, edges)[0] / max(1, values.size) * 100
        dash = DASHES[index % len(DASHES)]
        figure.add_scatter(
            x=centers,
            y=share.astype(np.float32),
            mode="lines",
            line={"color": theme.color(index), "dash": dash, "width": 2, "shape": "hvh"},
            fill="tozeroy",
            fillcolor=translucent(theme.color(index), 0.18),
            name=stage,
            hovertemplate=f"{stage}: <b>%{{y:.2f}} %</b> of the values<br>"
            f"within ±{(edges[1] - edges[0]) / 2:.3g} of %{{x}}<extra></extra>",
            xhoverformat=".3f",
        )
    figure.update_xaxes(title="value (no unit)")
    figure.update_yaxes(title="share of the values (%)", rangemode="tozero")
    return finish(figure, theme, title, 400, legend=True)


def gamma_beta(gamma: Array, beta: Array | None, *, theme: Theme, title: str = "") -> go.Figure:
    """Draw the learned scale and shift of a norm, (D,) each, with their values before training (1 and 0).

    A norm without shift has no beta.
    """
    learned = [("γ (gamma)", gamma, 1)] if beta is None else [("γ (gamma)", gamma, 1), ("β (beta)", beta, 0)]
    figure = make_subplots(rows=len(learned), cols=1, shared_xaxes=True, vertical_spacing=0.08)
    dimensions = np.arange(len(gamma), dtype=np.int32)
    for row, (name, values, start) in enumerate(learned, start=1):
        figure.add_scatter(
            x=dimensions,
            y=values.astype(np.float32),
            mode="markers",
            marker={"color": theme.color(row - 1), "symbol": SYMBOLS[row - 1], "size": 6},
            name=name,
            yhoverformat=".4f",
            hovertemplate=f"dimension %{{x}}<br>{name}: <b>%{{y}}</b><extra></extra>",
            row=row,
            col=1,
        )
        figure.add_hline(y=start, line={"color": theme.muted, "dash": "dash", "width": 1}, row=row, col=1)
        figure.update_yaxes(title=f"{name}<br>starts at {start}", row=row, col=1)
    figure.update_xaxes(title=f"dimension (0 to {len(gamma) - 1:,})", row=len(learned), col=1)
    return finish(figure, theme, title, 400, legend=True)


def growth(
    points: Sequence[str],
    series: Mapping[str, Array],
    *,
    theme: Theme,
    quantity: str = "length of a token's vector (no unit)",
    tokens: Sequence[str] | None = None,
    title: str = "",
) -> go.Figure:
    """Draw one number per token along the layers: the mean over tokens, and a band from least to most.

    Args:
        points: P names of points along the forward pass, in order.
        series: name -> (P, T); several models or stacks to compare.
        quantity: name of the numbers, for the y axis.
        tokens: T tokens, to add a thin line per token; None draws only the mean and the band.
    """
    figure = go.Figure()
    places = [escape(point, 40) for point in points]
    for index, (name, values) in enumerate(series.items()):
        color = theme.color(index)
        known = np.ma.masked_invalid(values)  # unknown values leave a gap
        least, mean, most = (
            of_place.filled(np.nan) for of_place in (known.min(1), known.mean(1), known.max(1))
        )
        band(figure, places, least, most, color, name)
        if tokens is not None:
            figure.add_trace(_token_lines(places, values, tokens, name, color))
        figure.add_scatter(
            x=places,
            y=mean.astype(np.float32),
            mode="lines+markers",
            line={"color": color, "width": 3, "dash": DASHES[index % len(DASHES)]},
            marker={"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 9},
            name=f"{name}: mean over tokens",
            hovertemplate=f"{name}<br>%{{x}}: mean <b>%{{y:.3f}}</b><extra></extra>",
        )
    # Categories: plotly labels as many as fit, and hovering names each.
    figure.update_xaxes(
        title="along the forward",
        type="category",
        range=[-0.4, len(points) - 0.6],
        autotickangles=[0, -45, -90],
    )
    figure.update_yaxes(title=quantity, rangemode="tozero")
    return finish(figure, theme, title, 480, legend=True)


def _token_lines(
    places: Sequence[str], values: Array, tokens: Sequence[str], name: str, color: str
) -> go.Scatter:
    """One thin line per token, in one trace with gaps: hundreds of traces would be slow."""
    gaps = np.full(len(tokens), np.nan)
    lines = np.vstack([values, gaps]).T  # (T, P + 1)
    return go.Scatter(
        x=[*places, places[-1]] * len(tokens),
        y=lines.ravel().astype(np.float32),
        text=np.repeat(numbered(tokens), len(places) + 1),
        mode="lines",
        line={"color": color, "width": 1},
        opacity=0.55,
        name=f"{name}: each token",
        showlegend=False,
        hovertemplate="%{text}<br>%{x}: <b>%{y:.3f}</b><extra></extra>",
    )
