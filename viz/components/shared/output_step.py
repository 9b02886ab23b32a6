"""A step of the output, with the best candidates, for the views that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from viz.components.shared.frame import brief


@dataclass(frozen=True)
class Candidate:
    """A possible next token."""

    text: str
    """Invisible characters are already made visible."""
    probability: float
    """From 0 to 1."""


@dataclass(frozen=True)
class OutputStep:
    """One step of the decoder: the token taken, and the best candidates."""

    text: str
    """The token taken: the most probable one, or the given one in teacher forcing."""
    probability: float
    """The model's probability of the token taken, from 0 to 1."""
    rank: int
    """The rank of the token taken among all tokens by probability, from 1."""
    best: Sequence[Candidate]
    """The k most probable tokens, most probable first."""


def step_data(step: OutputStep) -> dict[str, Any]:
    """A step as data for the browser."""
    return {
        "word": brief(step.text),
        "probability": step.probability,
        "rank": step.rank,
        "best": [[brief(candidate.text), candidate.probability] for candidate in step.best],
    }
