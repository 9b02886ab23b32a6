"""Norms and the residual stream that they keep in bounds."""

from __future__ import annotations

import plotly.graph_objects as go

from headlight.runs import Run, check_index
from transformer.analysis.norms import SPREADS, norm_stages, spread_of
from transformer.analysis.residual import stream_lengths
from transformer.model.trace import NormRecord, Stack
from viz.figures import norms as figures
from viz.theme import ThemeName, palette


def plot_norm(run: Run, path: str, *, head: int = 0, theme: ThemeName = "light") -> go.Figure:
    """Mean and deviation of every token's numbers before a norm, normalized, and after it.

    Args:
        run: of a sentence.
        path: of the norm: one of `Run.norms`.
        head: of a norm inside of heads (q_norm, k_norm).
        theme: "light" or "dark".
    """
    kind = run.model.model.config.norm
    stages, spread = norm_stages(_record(run, path, head), kind), spread_of(kind)
    return figures.norm_statistics(
        {stage: values.mean(axis=1) for stage, values in stages.items()},
        {stage: SPREADS[spread](values) for stage, values in stages.items()},
        run.norms[path],
        theme=palette(theme),
        spread=spread,
        title=path,
    )


def plot_norm_values(
    run: Run, path: str, *, token: int | None = None, head: int = 0, theme: ThemeName = "light"
) -> go.Figure:
    """How the numbers of all tokens, or of one, spread before and after a norm; see `plot_norm`."""
    stages = norm_stages(_record(run, path, head), run.model.model.config.norm)
    if token is not None:
        check_index("token", token, len(run.norms[path]), "the sentence")
        stages = {stage: values[token : token + 1] for stage, values in stages.items()}
    whose = "all tokens" if token is None else f"token {token}"
    return figures.value_distribution(stages, theme=palette(theme), title=f"{path}, {whose}")


def plot_norm_parameters(run: Run, path: str, *, theme: ThemeName = "light") -> go.Figure:
    """The learned gamma (and beta) of a norm, dimension by dimension; see `plot_norm`."""
    record, norm = _record(run, path, 0), run.model.model.get_submodule(path)
    return figures.gamma_beta(
        norm.get_parameter("gamma").cpu().numpy(),
        None if record.mean is None else norm.get_parameter("beta").cpu().numpy(),
        theme=palette(theme),
        title=path,
    )


def plot_residual(
    run: Run, stack: Stack, *, each_token: bool = False, theme: ThemeName = "light"
) -> go.Figure:
    """The length of the tokens' vectors in the residual stream, from a stack's input to its last layer."""
    points, lengths = stream_lengths(run.trace, run.check_stack(stack))
    tokens = run.trace.tokens(stack)[0] if each_token else None
    title = f"The residual stream of the {stack}"
    return figures.growth(points, {stack: lengths}, theme=palette(theme), tokens=tokens, title=title)


def _record(run: Run, path: str, head: int) -> NormRecord:
    if path not in run.norms:
        raise ValueError(f"{run.model.name} has no norm {path!r}: choose one of {', '.join(run.norms)}.")
    record = run.trace.norm(path)
    if record.input.dim() == 3:
        return record
    check_index("head", head, record.input.shape[1], path)
    return record.of_head(head)
