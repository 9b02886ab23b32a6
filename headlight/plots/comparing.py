"""Two runs of the same tokens: where they differ, and one tensor of each."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from headlight.runs import Run
from transformer.analysis.changes import changes
from viz.run_figures.changes import changes_figure, tensors_figure
from viz.theme import ThemeName, palette


def plot_changes(run: Run, other: Run, *, theme: ThemeName = "light") -> go.Figure:
    """How far each stage of a run is from another run's, in the order of the forward pass.

    Args:
        run: the run of a sentence.
        other: a run of the same tokens in another model, or in the same model after a change. A tensor that
            is missing there, or has another shape, counts as a change of 1, the largest.
        theme: "light" or "dark".
    """
    return changes_figure(changes(run.trace, other.trace), theme=palette(theme))


def plot_tensors(runs: Mapping[str, Run], path: str, *, theme: ThemeName = "light") -> go.Figure:
    """One vector per token in several runs of the same tokens, side by side, with one colour scale.

    Args:
        runs: one or more, by the headings of their matrices.
        path: path of a tensor (1, T, D) that all of them have, such as ``"encoder.layers.0.resid_post"``.
        theme: "light" or "dark".

    Raises:
        ValueError: there is no such tensor, or it has another shape.
    """
    first = next(iter(runs.values()))
    for name, run in runs.items():
        tensor = run.trace.get(path)
        if tensor is None or tensor.dim() != 3 or tensor.shape != first.trace[path].shape:
            raise ValueError(f"{name!r} has no tensor {path!r} with a vector for each token of the others.")
    traces = {name: run.trace for name, run in runs.items()}
    return tensors_figure(traces, path, theme=palette(theme), title=path)
