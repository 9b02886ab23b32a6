"""What all commands share."""

from __future__ import annotations

import sys
from pathlib import Path

STOPPED = 130
"""The exit status after Ctrl-C, as shells have it."""


MOST_PENALTY = 10
"""Of --length-penalty: useful ones are about 1, and hundreds are more than a number can hold."""


def program() -> str:
    """How these commands are called: by the installed command, or as a module of a checkout."""
    return "headlight" if Path(sys.argv[0]).stem == "headlight" else "python -m transformer"


class CommandError(Exception):
    """What a command can't do; the message goes to standard error."""


def check_search(beam: int | None, length_penalty: float | None, no_repeat: int | None = None) -> None:
    """Refuse what no beam search can be made with, before a model is opened; None was not given.

    Raises:
        CommandError: for an empty beam, or a length penalty or a number of tokens out of its range.
    """
    if beam is not None and beam < 1:
        raise CommandError(f"--beam is {beam}: it must be at least 1.")
    if length_penalty is not None and not 0 <= length_penalty <= MOST_PENALTY:  # NaN is in no range
        raise CommandError(f"--length-penalty is {length_penalty}: it must be from 0 to {MOST_PENALTY}.")
    if no_repeat is not None and no_repeat < 0:
        raise CommandError(f"--no-repeat is {no_repeat}: it must be at least 1, or 0 for no such rule.")
