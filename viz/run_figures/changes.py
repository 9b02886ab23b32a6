"""Two runs compared, as figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from transformer.analysis.changes import Change, in_words, part_of
from transformer.analysis.norms import norm_tokens
from transformer.model.trace import Trace
from viz.figures import changes as figures
from viz.theme import Theme


def changes_figure(changes: Sequence[Change], *, theme: Theme) -> go.Figure:
    """Draw how far each stage of a run is from the other run's."""
    return figures.change_by_stage(
        np.array([change.size for change in changes]),
        [in_words(change.path) for change in changes],
        [part_of(change.path) for change in changes],
        theme=theme,
    )


def tensors_figure(traces: Mapping[str, Trace], path: str, *, theme: Theme, title: str = "") -> go.Figure:
    """Draw one tensor of several runs of the same tokens side by side: one row per token.

    Args:
        traces: by their headings; each has the tensor, in the same shape.
        path: path of a tensor (1, T, D), (1, H, T, d_head), whose heads are concatenated, or (T, D).
    """
    return figures.token_matrices(
        {name: _token_vectors(trace, path) for name, trace in traces.items()},
        norm_tokens(next(iter(traces.values())), path),
        quantity="no unit",
        theme=theme,
        title=title,
    )


def _token_vectors(trace: Trace, path: str) -> NDArray[np.float32]:
    """One vector per token, (T, D)."""
    tensor = trace[path].float()
    if tensor.dim() == 4:
        tensor = tensor.transpose(1, 2).flatten(2)
    elif tensor.dim() == 2:
        tensor = tensor.unsqueeze(0)
    vectors: NDArray[np.float32] = tensor[0].numpy()
    return vectors
