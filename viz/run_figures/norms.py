"""Norms and the residual stream as figures."""

from __future__ import annotations

import plotly.graph_objects as go

from transformer.analysis.norms import NormNumbers
from transformer.analysis.residual import stream_lengths
from transformer.model.trace import Stack, Trace
from viz.figures import norms as figures
from viz.theme import Theme


def statistics_figure(norm: NormNumbers, *, theme: Theme, title: str = "") -> go.Figure:
    """Draw the mean and the spread of each token's numbers at each stage of a norm."""
    return figures.norm_statistics(
        norm.means, norm.spreads, norm.tokens, theme=theme, title=title, spread=norm.spread
    )


def values_figure(norm: NormNumbers, token: int | None = None, *, theme: Theme, title: str = "") -> go.Figure:
    """Draw the distribution of the numbers of one token, or of all, at each stage of a norm."""
    chosen = slice(None) if token is None else slice(token, token + 1)
    stages = {stage: values[chosen] for stage, values in norm.stages.items()}
    return figures.value_distribution(stages, theme=theme, title=title)


def parameters_figure(norm: NormNumbers, *, theme: Theme, title: str = "") -> go.Figure:
    """Draw gamma and beta, dimension by dimension."""
    return figures.gamma_beta(norm.gamma, norm.beta, theme=theme, title=title)


def residual_figure(
    trace: Trace, stack: Stack, *, each_token: bool, theme: Theme, title: str = ""
) -> go.Figure:
    """Draw the length of the tokens' vectors along a stack, optionally with one line per token."""
    points, lengths = stream_lengths(trace, stack)
    tokens = trace.tokens(stack)[0] if each_token else None
    return figures.growth(points, {stack: lengths}, theme=theme, tokens=tokens, title=title)
