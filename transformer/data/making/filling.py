"""Frames filled with words of the dictionary and the tables: pairs of sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from random import Random
from typing import Generic, TypeVar

from transformer.data.making import english_slots, italian_slots, tables
from transformer.data.making.dictionary import Words
from transformer.data.making.frames import Frame, Speaker, Value, Values
from transformer.data.making.names import draw_person
from transformer.data.making.quantities import QUANTITIES, Quantity

_ATTEMPTS = 20
_NONE: Values = {}
_Word = TypeVar("_Word")


@dataclass(frozen=True)
class _Weighted(Generic[_Word]):
    """Words, and the running sums of how often each is drawn."""

    words: Sequence[_Word]
    sums: Sequence[float]

    @classmethod
    def of(cls, weights: Mapping[_Word, float]) -> _Weighted[_Word]:
        return cls(list(weights), list(accumulate(weights.values())))

    def draw(self, rng: Random) -> _Word:
        return rng.choices(self.words, cum_weights=self.sums)[0]


class Filler:
    """Fills frames with words of a dictionary and of the tables.

    Args:
        words: of the dictionary; at least one of each kind that the frames name.
        rng: what is drawn with.
    """

    def __init__(self, words: Words, rng: Random) -> None:
        self._rng = rng
        nouns, adjectives = _Weighted.of(words.nouns), _Weighted.of(words.adjectives)
        transitive = _Weighted.of(words.verbs_by(transitive=True))
        intransitive = _Weighted.of(words.verbs_by(transitive=False))
        self._draw: dict[str, Callable[[Random], Value]] = {
            "n": nouns.draw,
            "m": nouns.draw,
            "d": lambda rng: rng.choice(tables.foods()),
            "p": draw_person,
            "q": draw_person,
            "j": lambda rng: rng.choice(tables.jobs()),
            "c": lambda rng: rng.choice(tables.cities()),
            "k": lambda rng: rng.choice(tables.countries()),
            "o": lambda rng: rng.choice(tables.companies()),
            "a": adjectives.draw,
            "v": transitive.draw,
            "i": intransitive.draw,
            "x": lambda rng: rng.choice((Speaker("m"), Speaker("f"))),
            **QUANTITIES,
        }

    def fill(self, frame: Frame, given: Values = _NONE) -> tuple[str, str] | None:
        """Make a pair of sentences; None where what is given has not the forms that the frame needs.

        Args:
            frame: what is filled.
            given: some of its values; the others are drawn.
        """
        for _ in range(_ATTEMPTS):
            values = {
                name: given[name] if name in given else self._draw[_kind(name)](self._rng)
                for name in sorted(frame.variables)
            }
            if _are_distinct(values) and frame.takes(values):
                return said_in_english(frame, values), said_in_italian(frame, values)
        return None


def _are_distinct(values: Values) -> bool:
    """Whether no word comes twice, nor one value of a kind of quantity: room 4 may have 4 beds."""
    found = [(_kind(name) if isinstance(value, Quantity) else "", value) for name, value in values.items()]
    return all(one != other for one, other in combinations(found, 2))


def _kind(variable: str) -> str:
    return variable.rstrip("0123456789")


def said_in_english(frame: Frame, values: Values) -> str:
    """Fill the English side of a frame."""
    parts = list(frame.english)
    parts[1::2] = [english_slots.say(slot, values) for slot in parts[1::2]]
    return _sentence("".join(parts))


def said_in_italian(frame: Frame, values: Values) -> str:
    """Fill the Italian side of a frame: before a vowel lo and la become l', a and e become ad and ed."""
    parts = list(frame.italian)
    for place in range(1, len(parts), 2):
        slot, following = parts[place], parts[place + 1]
        parts[place] = italian_slots.say(slot, values)
        if slot.startswith("lo|") and parts[place] in ("lo", "la") and re.match(" (h|[aeiouè])", following):
            parts[place], parts[place + 1] = "l'", following[1:]
    return _sentence(re.sub(r"\b([ae]) (?=\1)", r"\1d ", "".join(parts)))


def _sentence(text: str) -> str:
    """Begin with a capital, end with one full stop: that of "p.m." is enough."""
    text = re.sub(r"(?<=[^.]\.)\.$", "", text)
    start = next(place for place, character in enumerate(text) if character.isalnum())
    return text[:start] + text[start].upper() + text[start + 1 :]
