"""What several packages refuse, each with a message for people: what is wrong, where, and what to do."""

from __future__ import annotations


class TextError(ValueError):
    """A text setting that can't be used; the message says what to change."""


class SentenceError(ValueError):
    """A sentence that the model can't be run on; the message says why and what to do."""


class CheckpointError(ValueError):
    """A model that can't be opened; the message says why and what to do."""
