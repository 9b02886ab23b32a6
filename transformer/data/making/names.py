"""People's names: those of the tables, and invented ones that nobody can have learnt by heart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from transformer.data.making import tables
from transformer.data.making.tables import FirstName
from transformer.data.tasks.toy_en_it.italian import Gender

INVENTED = 0.25
"""The share of names that no table has: who learns a thousand names by heart copies no other."""

FOREIGN = 0.2
"""The share of invented names with letters that few names have: a model that has never spelled a letter by
its bytes copies no name with it."""
_LETTERS = [letter for letter in map(chr, (*range(0xC0, 0x180), *range(0x1EA0, 0x1EFA))) if letter.isalpha()]
"""Latin letters with all that European and Vietnamese names put on them."""


@dataclass(frozen=True)
class NamedPerson:
    """Somebody in a sentence, called the same in both languages."""

    first: FirstName
    surname: str

    @property
    def gender(self) -> Gender:
        """Of the first name."""
        return self.first.gender

    @property
    def full(self) -> str:
        """First name and surname."""
        return f"{self.first.name} {self.surname}"


def draw_person(rng: Random) -> NamedPerson:
    """Draw a first name and a surname."""
    return NamedPerson(draw_first_name(rng), draw_surname(rng))


def draw_first_name(rng: Random, gender: Gender | None = None) -> FirstName:
    """Draw a first name of the table, or an invented one."""
    names = [name for name in tables.first_names() if gender in (None, name.gender)]
    name = rng.choice(names)
    if rng.random() >= INVENTED:
        return name
    return FirstName(_invented(rng.choice(names).name, name.name, rng), name.gender)


def draw_surname(rng: Random) -> str:
    """Draw a surname of the table, or an invented one."""
    surname = rng.choice(tables.surnames())
    return _invented(rng.choice(tables.surnames()), surname, rng) if rng.random() < INVENTED else surname


def _invented(first: str, last: str, rng: Random) -> str:
    name = spliced(first, last, rng)
    return with_foreign_letters(name, rng) if rng.random() < FOREIGN else name


def with_foreign_letters(word: str, rng: Random) -> str:
    """Put other letters, capitals for capitals, in the place of one or two of a word's."""
    letters = list(word)
    for place in rng.sample(range(len(word)), min(len(word), rng.choice([1, 1, 2]))):
        if word[place].isalpha():
            letters[place] = rng.choice([one for one in _LETTERS if one.isupper() == word[place].isupper()])
    return "".join(letters)


def spliced(first: str, last: str, rng: Random) -> str:
    """Make a word that nobody knows: the beginning of one up to a vowel, and the end of another from one."""
    return first[: rng.choice(_inner_vowels(first))] + last[rng.choice(_inner_vowels(last)) :]


def _inner_vowels(word: str) -> list[int]:
    return [match.start() for match in re.finditer("(?<=.)[aeiou]", word)] or [len(word) // 2]
