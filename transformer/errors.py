"""What several packages refuse, each with a message for people: what is wrong, where, and what to do."""

from __future__ import annotations


class TextError(ValueError):
    """A text setting that can't be used; the message says what to change."""


class SentenceError(ValueError):
    """A sentence that the model can't be run on; the message says why and what to do."""


class CheckpointError(ValueError):
    """A model that can't be opened; the message says why and what to do."""


_LONGEST_SHOWN = 80


def shown(value: object) -> str:
    """A value out of a file as it may stand in a message: short, control characters escaped."""
    text = repr(value[: _LONGEST_SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."
