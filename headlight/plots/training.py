"""Training: the loss and the learning rate of a finished run."""

from __future__ import annotations

import plotly.graph_objects as go

from transformer.training.snapshots import open_snapshots
from viz.run_figures.training import snapshots_figure
from viz.theme import ThemeName, palette


def plot_training(name_or_path: str, *, theme: ThemeName = "light") -> go.Figure:
    """The loss and the learning rate of a model that was trained with snapshots, such as toy-en-it.

    Raises:
        headlight.CheckpointError: its folder has no snapshots, or is damaged.
    """
    snapshots = open_snapshots(name_or_path)
    title = f"Training of {snapshots.folder.name}"
    return snapshots_figure(snapshots, snapshots.steps[-1], theme=palette(theme), title=title)
