"""Norms and the residual stream that they keep in bounds."""

from __future__ import annotations

import plotly.graph_objects as go

from headlight.runs import Run, check_index
from transformer.analysis.norms import NormNumbers, norm_numbers
from transformer.model.trace import Stack
from viz.run_figures.norms import parameters_figure, residual_figure, statistics_figure, values_figure
from viz.theme import ThemeName, palette


def plot_norm(run: Run, path: str, *, head: int = 0, theme: ThemeName = "light") -> go.Figure:
    """Mean and standard deviation of every token's numbers before a norm, normalized, and after it.

    Args:
        run: the run of a sentence.
        path: path of the norm, one of `Run.norms`.
        head: the head, for a norm within heads (q_norm, k_norm).
        theme: "light" or "dark".
    """
    return statistics_figure(_numbers(run, path, head), theme=palette(theme), title=path)


def plot_norm_values(
    run: Run, path: str, *, token: int | None = None, head: int = 0, theme: ThemeName = "light"
) -> go.Figure:
    """The distribution of the numbers of all tokens, or of one, before and after a norm; see `plot_norm`."""
    norm = _numbers(run, path, head)
    if token is not None:
        check_index("token", token, len(norm.tokens), "the sentence")
    title = f"{path}, {'all tokens' if token is None else f'token {token}'}"
    return values_figure(norm, token, theme=palette(theme), title=title)


def plot_norm_parameters(run: Run, path: str, *, theme: ThemeName = "light") -> go.Figure:
    """The learned gamma (and beta) of a norm, dimension by dimension; see `plot_norm`."""
    return parameters_figure(_numbers(run, path, 0), theme=palette(theme), title=path)


def plot_residual(
    run: Run, stack: Stack, *, each_token: bool = False, theme: ThemeName = "light"
) -> go.Figure:
    """The length of the tokens' vectors in the residual stream, from a stack's input to its last layer."""
    title = f"The residual stream of the {run.check_stack(stack)}"
    return residual_figure(run.trace, stack, each_token=each_token, theme=palette(theme), title=title)


def _numbers(run: Run, path: str, head: int) -> NormNumbers:
    if path not in run.norms:
        raise ValueError(f"{run.model.name} has no norm {path!r}: choose one of {', '.join(run.norms)}.")
    shape = run.trace.norm(path).input.shape
    is_inside_heads = len(shape) == 4
    if is_inside_heads:
        check_index("head", head, shape[1], path)
    return norm_numbers(run.model.model, run.trace, path, head if is_inside_heads else None)
