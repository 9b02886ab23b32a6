"""Built-in tasks: sentence pairs to train on, made by rules."""

from __future__ import annotations

from transformer.tasks.pairs import SentencePair
from transformer.tasks.toy_en_it import ToyEnIt

TASKS = {ToyEnIt.name: ToyEnIt}
"""By the name that the command line takes."""

__all__ = ["TASKS", "SentencePair", "ToyEnIt"]
