"""The training run of a model with snapshots, as a figure."""

from __future__ import annotations

import plotly.graph_objects as go

from transformer.training.snapshots import Snapshots
from viz.figures.training import training_course
from viz.theme import Theme


def snapshots_figure(snapshots: Snapshots, step: int, *, theme: Theme, title: str = "") -> go.Figure:
    """Draw the loss and the learning rate of the run with its snapshots marked; `step` is the chosen one."""
    return training_course(
        snapshots.history,
        theme=theme,
        n_steps=snapshots.steps[-1],
        marks=snapshots.steps,
        chosen=step,
        logarithmic=True,
        title=title,
    )
