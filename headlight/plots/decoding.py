"""Decoding: the next tokens at each step, two targets token by token, and how far to trust the model."""

from __future__ import annotations

import plotly.graph_objects as go

from headlight.runs import Run, check_index
from transformer.analysis.token_scores import scored_target
from transformer.loaded import LoadedModel
from viz.run_figures.decoding import (
    confidence_figure,
    next_tokens_figure,
    reliability_figure,
    steps_figure,
    targets_figure,
)
from viz.theme import ThemeName, palette


def plot_steps(run: Run, *, theme: ThemeName = "light") -> go.Figure:
    """The best next tokens of every step in a column, darker if more probable."""
    _check_steps(run)
    return steps_figure(run.computed.steps, run.model.target, theme=palette(theme))


def plot_next_tokens(run: Run, step: int, *, theme: ThemeName = "light") -> go.Figure:
    """The best next tokens of one step (from 0) as bars, and which of them was chosen."""
    _check_steps(run)
    check_index("step", step, len(run.computed.steps), "the run")
    chosen = run.computed.steps[step]
    return next_tokens_figure(chosen, run.model.target, theme=palette(theme), title=f"Step {step}")


def plot_targets(given: Run, free: Run, *, theme: ThemeName = "light") -> go.Figure:
    """Two targets of one source: the log-probability of each token, and how unsure the model was.

    Args:
        given: a run with a given target (teacher forcing).
        free: a run with the target that the model generated.
        theme: "light" or "dark".
    """
    for run in (given, free):
        _check_steps(run)
        if run.computed.decoder_input is None:
            raise ValueError(f"{run.model.name} has no decoder, so it writes no targets.")
    targets = {
        name: scored_target(run.model, run.computed) for name, run in (("given", given), ("free", free))
    }
    return targets_figure(targets, theme=palette(theme))


def plot_confidence(run: Run, *, theme: ThemeName = "light") -> go.Figure:
    """The probability that each word of the translation is right; a star marks an invented word.

    Raises:
        ValueError: the model was not calibrated when it was trained, or the target was given.
    """
    found = run.confidence
    if found is None:
        raise ValueError(f"How often {run.model.name} is right was not measured, or the target was given.")
    title = f"Right with a probability of {found.probability:.0%}"
    return confidence_figure(found, theme=palette(theme), title=title)


def plot_reliability(model: LoadedModel, *, theme: ThemeName = "light") -> go.Figure:
    """A reliability diagram: how often the model's predictions about its translations and words were right.

    Raises:
        ValueError: the model was not calibrated when it was trained.
    """
    measured = None if model.experience is None else model.experience.calibrations
    if measured is None:
        raise ValueError(f"How often {model.name} is right was not measured when it was trained.")
    return reliability_figure(measured, theme=palette(theme))


def _check_steps(run: Run) -> None:
    if not run.computed.steps:
        raise ValueError(f"{run.model.name} has no generator, so it predicts no next tokens.")
