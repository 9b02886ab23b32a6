"""Sentence pairs with word alignment, and the tasks that generate them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from transformer.text.words import clean


@dataclass(frozen=True)
class SentencePair:
    """A sentence in two languages with its word alignment.

    Attributes:
        source: lower-case words, split as in `transformer.text.words`.
        target: the words of the translation, likewise.
        alignment: pairs (source index, target index); every word of either side is in at least one.
        replaceable: alignment pairs of one content word (a noun, verb, adjective or name) with one other,
            neither in another pair, so that the word could be any other of its kind.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]]
    replaceable: frozenset[tuple[int, int]]


class Task(ABC):
    """A task to train on.

    Attributes:
        name: the name by which users choose it.
        source_language, target_language: language codes of the tokenizers.
        about: description of the task's model, for its card.
        limits: limits of the task's model, for its card; {longest} and {max_len} are filled in.
    """

    name: str
    source_language: str
    target_language: str
    about: str
    limits: str

    @abstractmethod
    def pairs(self, seed: int, *, held_out: bool) -> Iterator[SentencePair]:
        """Draw pairs endlessly, either all held out from training or none."""

    def held_out(self, count: int, seed: int) -> list[SentencePair]:
        """Draw pairs for evaluation."""
        return list(islice(self.pairs(seed, held_out=True), count))

    def spell(self, text: str) -> str:
        """Convert typed text to the task's form: clean it."""
        return clean(text)
