"""Built-in tasks: sentence pairs to train on, made by rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from transformer.data.tasks.pairs import SentencePair
from transformer.data.tasks.symbols import COPY, REVERSE, SORT, SymbolTask
from transformer.data.tasks.toy_en_it import ToyEnIt

__all__ = ["COPY", "REVERSE", "SORT", "TASKS", "SentencePair", "SymbolTask", "Task", "ToyEnIt"]


class Task(Protocol):
    """What can be trained on.

    Attributes:
        name: as people choose it.
        source_language, target_language: codes of the tokenizers.
    """

    name: str
    source_language: str
    target_language: str

    def pairs(self, seed: int, *, held_out: bool) -> Iterator[SentencePair]:
        """Make pairs without end, all of them held out from training or none."""
        ...

    def held_out(self, count: int, seed: int) -> list[SentencePair]:
        """Make so many held-out pairs."""
        ...


TASKS: dict[str, Task] = {task.name: task for task in (ToyEnIt(), COPY, REVERSE, SORT)}
"""By name."""
