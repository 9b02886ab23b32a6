"""Training: the course of a finished run."""

from __future__ import annotations

import plotly.graph_objects as go

from transformer.training.snapshots import open_snapshots
from viz.figures.training import training_course
from viz.theme import ThemeName, palette


def plot_training(name_or_path: str, *, theme: ThemeName = "light") -> go.Figure:
    """The loss and the learning rate of a model that was trained with snapshots, such as toy-en-it.

    Raises:
        headlight.CheckpointError: when its folder has no snapshots, or is damaged.
    """
    snapshots = open_snapshots(name_or_path)
    return training_course(
        snapshots.history,
        theme=palette(theme),
        n_steps=snapshots.steps[-1],
        marks=snapshots.steps,
        chosen=snapshots.steps[-1],
        logarithmic=True,
        title=f"Training of {snapshots.folder.name}",
    )
