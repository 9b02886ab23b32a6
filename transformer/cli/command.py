"""Shared parts of the commands: their error, the exit status after Ctrl-C, and checks of options."""

from __future__ import annotations

import sys
from pathlib import Path

STOPPED = 130
"""Exit status after Ctrl-C, as in shells."""


MOST_PENALTY = 10
"""Largest --length-penalty: useful values are about 1, and hundreds would overflow."""


def program() -> str:
    """The words that call these commands: the installed program, or the module in a checkout."""
    return "headlight" if Path(sys.argv[0]).stem == "headlight" else "python -m transformer"


class CommandError(Exception):
    """A command failed; the message is printed to standard error."""


def check_search(beam: int | None, length_penalty: float | None, no_repeat: int | None = None) -> None:
    """Check the options of a beam search before a model is opened; None for options not given.

    Raises:
        CommandError: for a value out of range.
    """
    if beam is not None and beam < 1:
        raise CommandError(f"--beam is {beam}: it must be at least 1.")
    if length_penalty is not None and not 0 <= length_penalty <= MOST_PENALTY:  # refuses NaN too
        raise CommandError(f"--length-penalty is {length_penalty}: it must be from 0 to {MOST_PENALTY}.")
    if no_repeat is not None and no_repeat < 0:
        raise CommandError(f"--no-repeat is {no_repeat}: it must be at least 1, or 0 for no such rule.")
