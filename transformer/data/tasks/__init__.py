"""Built-in tasks: symbol sequences and simple sentences to train on, with the right answers."""

from __future__ import annotations

from transformer.data.tasks.pairs import SentencePair, Task
from transformer.data.tasks.symbols import COPY, REVERSE, SORT, SymbolTask
from transformer.data.tasks.toy_en_it import ToyEnIt

__all__ = ["COPY", "REVERSE", "SORT", "TASKS", "SentencePair", "SymbolTask", "Task", "ToyEnIt"]


TASKS: dict[str, Task] = {task.name: task for task in (ToyEnIt(), COPY, REVERSE, SORT)}
"""Tasks by name."""
