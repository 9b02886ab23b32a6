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
        name: as users choose it.
        source_language, target_language: codes of the tokenizers.
        about: what a model of it is, for its card.
        limits: what such a model can't do, for its card; {longest} and {max_len} are filled in.
    """

    name: str
    source_language: str
    target_language: str
    about: str
    limits: str

    def pairs(self, seed: int, *, held_out: bool) -> Iterator[SentencePair]:
        """Make pairs without end, all of them held out from training or none."""
        ...

    def held_out(self, count: int, seed: int) -> list[SentencePair]:
        """Make so many held-out pairs."""
        ...

    def spell(self, text: str) -> str:
        """Bring typed text into the task's form."""
        ...


TASKS: dict[str, Task] = {task.name: task for task in (ToyEnIt(), COPY, REVERSE, SORT)}
"""By name."""
