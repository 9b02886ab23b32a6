"""Two runs of the same tokens: where they part, and one tensor of each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from headlight.runs import Run
from transformer.analysis.changes import changes, in_words, part_of
from transformer.analysis.norms import norm_tokens
from viz.figures import changes as figures
from viz.theme import ThemeName, palette


def plot_changes(run: Run, other: Run, *, theme: ThemeName = "light") -> go.Figure:
    """How far each stage of a run is from another run's, in the order of the forward.

    Args:
        run: of a sentence.
        other: of the same tokens in another model, or in the same one changed: what it lacks, or has in
            another shape, is as far away as can be.
        theme: "light" or "dark".
    """
    found = changes(run.trace, other.trace)
    return figures.change_by_stage(
        np.array([change.size for change in found]),
        [in_words(change.path) for change in found],
        [part_of(change.path) for change in found],
        theme=palette(theme),
    )


def plot_tensors(runs: Mapping[str, Run], path: str, *, theme: ThemeName = "light") -> go.Figure:
    """A vector for each token in several runs of the same tokens, side by side, in one range of colours.

    Args:
        runs: one or more, by what they are called.
        path: of a tensor (1, T, D) that all of them have: ``"encoder.layers.0.resid_post"``.
        theme: "light" or "dark".

    Raises:
        ValueError: for another tensor.
    """
    first = next(iter(runs.values()))
    for name, run in runs.items():
        tensor = run.trace.get(path)
        if tensor is None or tensor.dim() != 3 or tensor.shape != first.trace[path].shape:
            raise ValueError(f"{name!r} has no tensor {path!r} with a vector for each token of the others.")
    return figures.token_matrices(
        {name: run.trace[path][0].float().numpy() for name, run in runs.items()},
        norm_tokens(first.trace, path),
        quantity="no unit",
        theme=palette(theme),
        title=path,
    )
