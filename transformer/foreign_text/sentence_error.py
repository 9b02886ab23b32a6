"""The error of a sentence, in a place of its own: coders raise it too, and the runs are built on them."""

from __future__ import annotations


class SentenceError(ValueError):
    """A sentence that can't be run; the message says why and what to do."""
