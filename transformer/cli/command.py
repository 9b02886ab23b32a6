"""What all commands share."""

from __future__ import annotations

import math

STOPPED = 130
"""The exit status after Ctrl-C, as shells have it."""


class CommandError(Exception):
    """What a command can't do; the message goes to standard error."""


def check_search(beam: int, length_penalty: float) -> None:
    """Refuse what no beam search can be made with, before a model is opened.

    Raises:
        CommandError: for an empty beam, or a length penalty that is negative or no finite number.
    """
    if beam < 1:
        raise CommandError(f"--beam is {beam}: it must be at least 1.")
    if not (math.isfinite(length_penalty) and length_penalty >= 0):
        raise CommandError(f"--length-penalty is {length_penalty}: it must be a finite number, 0 or more.")
