"""The decoder's output, step by step, with the best next tokens; drawn in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viz.components.shared.client_view import JSON, ClientView
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.theme import Theme


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


_VIEW = ClientView("decoding_steps")


def decoding_steps(
    steps: Sequence[OutputStep],
    *,
    colors: Theme,
    key: str,
    start: Sequence[str] = ("<bos>",),
    positions: Sequence[int] | None = None,
    forced: bool = False,
    unit: str = "word",
    title: str = "The output",
) -> None:
    """Draw the output as a row of steps, and the best next tokens of one step with their probabilities.

    A click or the arrow keys choose the step, in the browser only. Bars share one scale, 0 to 100 %; the
    last one is the sum over all other tokens. A token taken from outside the best k has its own bar.

    Args:
        steps: one or more steps in order; step 0 is the first token.
        start: the tokens that the decoder starts with.
        positions: each step's position, if its token was predicted in place (a masked word) and not after
            the previous steps.
        forced: True in teacher forcing: each token was given, not chosen.
        unit: the name of a token: "word" or "sub-word".
        title: a name for screen readers.

    Raises:
        ValueError: there is no step, or the number of positions differs.
    """
    if positions is not None and len(positions) != len(steps):
        raise ValueError(f"{len(steps)} steps need as many positions, not {len(positions)}")
    if not steps:
        raise ValueError("there is no step to draw")
    data = {
        "colors": color_data(colors),
        "title": title,
        "start": list(map(brief, start)),
        "positions": None if positions is None else list(positions),
        "taken": "given" if forced else "chosen",
        "unit": unit,
        "steps": list(map(step_data, steps)),
    }
    _VIEW.show(pack_frame(data, {}), key=key)


def step_data(step: OutputStep) -> dict[str, JSON]:
    """A step as data for the browser."""
    return {
        "word": brief(step.text),
        "probability": step.probability,
        "rank": step.rank,
        "best": [[brief(candidate.text), candidate.probability] for candidate in step.best],
    }
