"""Next tokens, scored targets and confidence as figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.analysis.confidence import Confidence
from transformer.analysis.token_scores import ScoredTarget, parting
from transformer.decoding.greedy import DecodingStep
from transformer.experience import Calibration
from transformer.text.coder import Coder
from viz.figures import decoding as figures
from viz.theme import Theme


def steps_figure(steps: Sequence[DecodingStep], coder: Coder, *, theme: Theme) -> go.Figure:
    """Draw the best next tokens of every step."""
    return figures.step_probabilities(
        [[coder.token(index) for index in step.top_ids] for step in steps],
        np.array([step.top_probabilities for step in steps]),
        [coder.token(step.token_id) for step in steps],
        theme=theme,
        title=f"Best next {coder.unit}s at each step",
    )


def next_tokens_figure(step: DecodingStep, coder: Coder, *, theme: Theme, title: str = "") -> go.Figure:
    """Draw the best next tokens of one step as bars."""
    return figures.next_words(
        [coder.token(index) for index in step.top_ids],
        np.array(step.top_probabilities),
        chosen=step.top_ids.index(step.token_id) if step.token_id in step.top_ids else None,
        theme=theme,
        title=title,
    )


def targets_figure(targets: Mapping[str, ScoredTarget], *, theme: Theme) -> go.Figure:
    """Draw two targets of one source token by token, labelled with their names."""
    drawn = {
        name: figures.ScoredTokens(target.tokens, target.scores.log_probabilities, target.scores.entropies)
        for name, target in targets.items()
    }
    given, free = targets.values()
    return figures.token_by_token(drawn, parting=parting(given.ids, free.ids), theme=theme)


def confidence_figure(confidence: Confidence, *, theme: Theme, title: str = "") -> go.Figure:
    """Draw the probability that each word of a translation is right."""
    return figures.word_confidence(
        [word.text for word in confidence.words],
        [word.probability for word in confidence.words],
        [word.is_new for word in confidence.words],
        theme=theme,
        title=title,
    )


def reliability_figure(calibrations: tuple[Calibration, Calibration], *, theme: Theme) -> go.Figure:
    """Draw how often the predictions about translations and about words were right."""
    names = ("translations", "words")
    points = {name: measured.points for name, measured in zip(names, calibrations, strict=True)}
    return figures.reliability(points, theme=theme)
