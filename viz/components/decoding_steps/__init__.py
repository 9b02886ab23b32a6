"""The decoder's output, step by step, with the best next tokens; drawn in the browser."""

from __future__ import annotations

from collections.abc import Sequence

from viz.components.shared.client_view import ClientView
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.components.shared.output_step import OutputStep, step_data
from viz.theme import Theme

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
