"""A training run: its loss, learning rate and checks, by update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from viz.figures._style import band, finish
from viz.figures.labels import DECORATION, escape
from viz.theme import Theme

MOST_POINTS = 300
"""Most points of a curve; in a longer run each represents several updates."""
LEAST_STEPS = 20
"""The length of the shortest axis, in updates."""


class Updates(Protocol):
    """The recorded updates of a training run, earliest first."""

    @property
    def steps(self) -> Sequence[int]:
        """(N,) update numbers, from 1, ascending."""

    @property
    def losses(self) -> Sequence[float]:
        """(N,) losses of each batch before its update, in nats."""

    @property
    def learning_rates(self) -> Sequence[float]:
        """(N,) one per update."""


Checks = tuple[Sequence[int], Sequence[float]]
"""Checks on held-out sentences: the updates made before each, and the shares that were right, 0 to 1."""


def training_course(
    updates: Updates,
    *,
    theme: Theme,
    n_steps: int,
    chance: float | None = None,
    checks: Checks | None = None,
    beside: tuple[str, Updates, Checks] | None = None,
    marks: Sequence[int] = (),
    chosen: int = 0,
    logarithmic: bool = False,
    title: str = "",
) -> go.Figure:
    """Draw the loss, the learning rate and, if given, the checks along the updates.

    Args:
        updates: the run's updates so far; may be empty.
        n_steps: updates of the whole run, which give the axis its length.
        chance: the loss of a model that gives every token the same probability, drawn as a line.
        checks: drawn in a separate panel.
        beside: the name, updates and checks of another run to compare with.
        marks: snapshots, by the updates made before each; drawn at the next update, whose loss is that of the
            snapshot's weights.
        chosen: the selected mark.
        logarithmic: True for a logarithmic axis of updates.
    """
    heights = [0.7, 0.3] if checks is None else [0.5, 0.2, 0.3]
    rows = len(heights)
    figure = make_subplots(rows=rows, shared_xaxes=True, vertical_spacing=0.06, row_heights=heights)
    groups = _groups(np.asarray(updates.steps, np.int64), logarithmic)
    middles, means = _curves(figure, updates, groups, theme)
    longest = max(n_steps, LEAST_STEPS)
    if chance is not None:
        _chance(figure, chance, longest, theme)
    if checks is not None:
        _checks(figure, *checks, theme)
    if beside is not None:
        _beside(figure, *beside, theme, has_checks=checks is not None)
    if marks:
        _marks(figure, marks, chosen, np.interp(np.asarray(marks) + 1, middles, means), theme)
    span = [-0.02, float(np.log10(longest + 1)) * 1.02] if logarithmic else [0, longest + 1]
    figure.update_xaxes(type="log" if logarithmic else "linear", range=span)
    name = "number of the update" + (" (logarithmic)" if logarithmic else "")
    figure.update_xaxes(title=name, row=rows, col=1)
    figure.update_yaxes(title="loss (nats)", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="learning rate", rangemode="tozero", exponentformat="power", row=2, col=1)
    if checks is None:
        return finish(figure, theme, title, 360, legend=True)
    if beside is not None:
        for trace in figure.data:
            trace.showlegend = trace.name in ("loss", "right", f"loss, {escape(beside[0])}")
        return finish(figure, theme, title, 520, legend=True)
    figure.update_layout(showlegend=False)  # each panel has one curve, which is named by its axis
    return finish(figure, theme, title, 440)


def _groups(steps: NDArray[np.int64], logarithmic: bool) -> list[NDArray[np.int64]]:
    """Split N updates into at most `MOST_POINTS` groups of neighbours, of equal width on the axis."""
    if not len(steps):
        return []
    places = np.log(steps) if logarithmic else steps.astype(float)
    width = max(float(places[-1] - places[0]), 1e-9) / MOST_POINTS
    group_of = np.floor((places - places[0]) / width).clip(max=MOST_POINTS - 1)
    borders = np.flatnonzero(np.diff(group_of)) + 1
    return np.split(np.arange(len(steps)), borders)


def _curves(
    figure: go.Figure, updates: Updates, groups: list[NDArray[np.int64]], theme: Theme
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw the loss and the learning rate, one point per group; returns x and y of the loss, (G,) each."""
    steps, losses = updates.steps, np.asarray(updates.losses, np.float64)
    middles, means = _means(steps, groups), _means(losses, groups)
    if any(len(group) > 1 for group in groups):
        low = np.array([losses[group].min() for group in groups])
        high = np.array([losses[group].max() for group in groups])
        band(figure, middles.astype(np.int64), low, high, theme.color(0), "loss")
    texts = [_updates(steps, group) for group in groups]
    common = {"x": middles.astype(np.float32), "text": texts, "mode": "lines", "col": 1}
    figure.add_scatter(
        y=means.astype(np.float32),
        name="loss",
        line={"color": theme.color(0), "width": 2},
        hovertemplate="%{text}<br>loss <b>%{y:.4f}</b> nats<extra></extra>",
        row=1,
        **common,
    )
    figure.add_scatter(
        y=_means(updates.learning_rates, groups).astype(np.float32),
        name="learning rate",
        line={"color": theme.color(1), "width": 2, "dash": "dash"},
        yhoverformat=".3e",
        hovertemplate="%{text}<br>learning rate <b>%{y}</b><extra></extra>",
        row=2,
        **common,
    )
    return middles, means


def _means(
    values: Sequence[float] | NDArray[np.floating], groups: list[NDArray[np.int64]]
) -> NDArray[np.float64]:
    numbers = np.asarray(values, np.float64)
    return np.array([numbers[group].mean() for group in groups])


def _updates(steps: Sequence[int], group: NDArray[np.int64]) -> str:
    first, last = steps[group[0]], steps[group[-1]]
    return f"update {first:,}" if first == last else f"updates {first:,} to {last:,}, their mean"


def _chance(figure: go.Figure, chance: float, last: int, theme: Theme) -> None:
    figure.add_scatter(
        x=[1, last],
        y=[chance, chance],
        mode="lines",
        name="mere chance",
        line={"color": theme.muted, "width": 2, "dash": "dot"},
        hovertemplate="every token equally probable: loss <b>%{y:.3f}</b> nats<extra></extra>",
        meta=DECORATION,
        row=1,
        col=1,
    )
    figure.add_annotation(
        x=last,
        y=chance,
        text="mere chance",
        showarrow=False,
        xanchor="right",
        yanchor="bottom",
        font={"color": theme.muted},
        row=1,
        col=1,
    )


def _checks(figure: go.Figure, steps: Sequence[int], shares: Sequence[float], theme: Theme) -> None:
    figure.add_scatter(
        x=np.asarray(steps, np.int32),
        y=np.asarray(shares, np.float32) * 100,
        mode="lines+markers",
        name="right",
        line={"color": theme.color(2), "width": 2},
        marker={"symbol": "square", "size": 7},
        hovertemplate="after %{x:,} updates<br><b>%{y:.0f} %</b> come out right<extra></extra>",
        row=3,
        col=1,
    )
    figure.update_yaxes(title="right (%)", range=[-4, 104], row=3, col=1)


def _beside(
    figure: go.Figure, name: str, updates: Updates, checks: Checks, theme: Theme, *, has_checks: bool
) -> None:
    """Draw the loss and the checks of another run."""
    groups = _groups(np.asarray(updates.steps, np.int64), logarithmic=False)
    curves = [(1, _means(updates.steps, groups), _means(updates.losses, groups), "loss", "%{y:.4f} nats")]
    if has_checks:
        steps, shares = (np.asarray(values, np.float64) for values in checks)
        curves.append((3, steps, shares * 100, "right", "%{y:.0f} %"))
    run = escape(name)
    for row, steps, values, what, shown in curves:
        figure.add_scatter(
            x=steps.astype(np.float32),
            y=values.astype(np.float32),
            mode="lines",
            name=f"{what}, {run}",
            line={"color": theme.color(3), "width": 2, "dash": "dashdot"},
            hovertemplate=f"{run}, after %{{x:,.0f}} updates<br>{what} <b>{shown}</b><extra></extra>",
            row=row,
            col=1,
        )


def _marks(
    figure: go.Figure, steps: Sequence[int], chosen: int, heights: NDArray[np.float64], theme: Theme
) -> None:
    """Mark snapshots on the loss curve, the chosen one larger and with a line through all panels."""
    sizes = [16 if step == chosen else 9 for step in steps]
    figure.add_scatter(
        x=[step + 1 for step in steps],
        y=heights.astype(np.float32),
        text=[f"after {step:,} updates" for step in steps],
        mode="markers",
        name="snapshot",
        marker={
            "color": [theme.accent if step == chosen else theme.background for step in steps],
            "size": sizes,
            "symbol": "diamond",
            "line": {"color": theme.accent, "width": 2},
        },
        hovertemplate="snapshot %{text}<extra></extra>",
        meta=DECORATION,
        row=1,
        col=1,
    )
    line = {"color": theme.accent, "width": 2, "dash": "dot"}
    figure.add_vline(x=chosen + 1, line=line, row="all", col=1)
