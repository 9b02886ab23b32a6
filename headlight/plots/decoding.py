"""Decoding: what a model says next at each step, two targets token by token, and how sure one may be."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from headlight.runs import Run, check_index
from transformer.analysis.token_scores import parting, target_scores
from transformer.loaded import LoadedModel
from viz.figures import decoding as figures
from viz.theme import ThemeName, palette


def plot_steps(run: Run, *, theme: ThemeName = "light") -> go.Figure:
    """The best next tokens of every step in a column, the more probable the darker."""
    _check_steps(run)
    token, steps = run.model.target.token, run.computed.steps
    return figures.step_probabilities(
        [[token(index) for index in step.top_ids] for step in steps],
        np.array([step.top_probabilities for step in steps]),
        [token(step.token_id) for step in steps],
        theme=palette(theme),
        title=f"Best next {run.model.target.unit}s at each step",
    )


def plot_next_tokens(run: Run, step: int, *, theme: ThemeName = "light") -> go.Figure:
    """The best next tokens of one step (from 0) as bars, and which of them was chosen."""
    _check_steps(run)
    check_index("step", step, len(run.computed.steps), "the run")
    chosen = run.computed.steps[step]
    return figures.next_words(
        [run.model.target.token(index) for index in chosen.top_ids],
        np.array(chosen.top_probabilities),
        chosen=chosen.top_ids.index(chosen.token_id) if chosen.token_id in chosen.top_ids else None,
        theme=palette(theme),
        title=f"Step {step}",
    )


def plot_targets(given: Run, free: Run, *, theme: ThemeName = "light") -> go.Figure:
    """Two targets of one source: the log-probability of each token, and how unsure the model was.

    Args:
        given: a run with a target that it was given (teacher forcing).
        free: a run with the target that the model wrote itself.
        theme: "light" or "dark".
    """
    drawn, ids = {}, []
    for name, run in (("given", given), ("free", free)):
        _check_steps(run)
        if run.computed.decoder_input is None:
            raise ValueError(f"{run.model.name} has no decoder, so it writes no targets.")
        own, scores = target_scores(run.model, run.computed)
        ids.append(own)
        tokens = [run.model.target.token(index) for index in own]
        drawn[name] = figures.ScoredTokens(tokens, scores.log_probabilities, scores.entropies)
    return figures.token_by_token(drawn, parting=parting(*ids), theme=palette(theme))


def plot_confidence(run: Run, *, theme: ThemeName = "light") -> go.Figure:
    """How probably each word that the model wrote is right; a star marks pieces that never stood together.

    Raises:
        ValueError: for a model that was not measured when it was trained, and for a given target.
    """
    found = run.confidence
    if found is None:
        raise ValueError(f"How often {run.model.name} is right was not measured, or the target was given.")
    return figures.word_confidence(
        [word.text for word in found.words],
        [word.probability for word in found.words],
        [word.is_new for word in found.words],
        theme=palette(theme),
        title=f"Right with a probability of {found.probability:.0%}",
    )


def plot_reliability(model: LoadedModel, *, theme: ThemeName = "light") -> go.Figure:
    """A reliability diagram: how often what the model claimed of its translations and words was right.

    Raises:
        ValueError: for a model that was not measured when it was trained.
    """
    measured = None if model.experience is None else model.experience.calibrations
    if measured is None:
        raise ValueError(f"How often {model.name} is right was not measured when it was trained.")
    sentences, words = measured
    points = {"translations": sentences.points, "words": words.points}
    return figures.reliability(points, theme=palette(theme))


def _check_steps(run: Run) -> None:
    if not run.computed.steps:
        raise ValueError(f"{run.model.name} has no generator, so it says no next tokens.")
