"""Built-in tasks: sentence pairs to train on, made by rules."""

from __future__ import annotations

from transformer.data.tasks.pairs import SentencePair, Task
from transformer.data.tasks.symbols import COPY, REVERSE, SORT, SymbolTask
from transformer.data.tasks.toy_en_it import ToyEnIt

__all__ = ["COPY", "REVERSE", "SORT", "TASKS", "SentencePair", "SymbolTask", "Task", "ToyEnIt"]


TASKS: dict[str, Task] = {task.name: task for task in (ToyEnIt(), COPY, REVERSE, SORT)}
"""By name."""
