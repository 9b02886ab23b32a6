"""What all commands share."""

from __future__ import annotations

STOPPED = 130
"""The exit status after Ctrl-C, as shells have it."""


class CommandError(Exception):
    """What a command can't do; the message goes to standard error."""
