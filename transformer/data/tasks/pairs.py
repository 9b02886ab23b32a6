"""Sentence pairs with their word alignment, and the tasks that they come from."""

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
        source: words, as `transformer.text.words` splits them; lower case.
        target: the same for the translation.
        alignment: pairs (source index, target index); every word of both sides is in one.
        replaceable: the pairs of the alignment that join one content word (a noun, verb, adjective or name)
            with one other, both in no other pair: the word could be any other of its kind.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]]
    replaceable: frozenset[tuple[int, int]]


class Task(ABC):
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

    @abstractmethod
    def pairs(self, seed: int, *, held_out: bool) -> Iterator[SentencePair]:
        """Draw pairs without end, all of them held out from training or none."""

    def held_out(self, count: int, seed: int) -> list[SentencePair]:
        """Draw pairs for evaluation."""
        return list(islice(self.pairs(seed, held_out=True), count))

    def spell(self, text: str) -> str:
        """Bring typed text into the task's form: clean it."""
        return clean(text)
