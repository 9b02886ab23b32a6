"""Errors used by several packages; each message says what is wrong, where, and what to do."""

from __future__ import annotations

from os import PathLike


class TextError(ValueError):
    """A text setting is unusable; the message says what to change."""


class SentenceError(ValueError):
    """The model can't be run on a sentence."""


class CheckpointError(ValueError):
    """The model can't be opened."""


class AlignmentError(ValueError):
    """The model can't align words."""


class EditError(ValueError):
    """A tensor of a run can't be edited as asked."""


_LONGEST_SHOWN = 80


def shown(value: object) -> str:
    """Make a value from a file safe for a message: shortened, with control characters escaped."""
    text = repr(value[: _LONGEST_SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def shown_path(path: str | PathLike[str]) -> str:
    """Make a path safe for a message; a long one loses its beginning: the file's name is at its end."""
    text = repr(str(path))
    return text if len(text) <= _LONGEST_SHOWN else f"{text[0]}...{text[4 - _LONGEST_SHOWN :]}"
