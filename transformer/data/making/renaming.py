"""Other names in the sentences of a corpus: Tatoeba's people are nearly all Tom and Mary, and from Boston."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from random import Random

from transformer.data.making import tables
from transformer.data.making.names import draw_first_name, draw_surname
from transformer.data.tasks.toy_en_it import italian
from transformer.data.tasks.toy_en_it.italian import Gender

PEOPLE: dict[str, Gender] = {"Tom": "m", "Mary": "f", "John": "m", "Maria": "f"}
"""Who is replaced, each by a name of the same gender: Italian shows it."""
CITY = "Boston"
FULL_NAMES = 0.08
"""The share of other people who get a surname, too."""

_ANY = "|".join([*PEOPLE, CITY])
_NAME = re.compile(rf"\b({_ANY})\b")
_NAME_AFTER_VOWEL = re.compile(rf"(?P<before>\b(?:ad?|ed?|A|E|Ad|Ed) )?\b(?P<name>{_ANY})\b")
_PART_OF_LONGER = re.compile(rf"[A-Z]\w+ {CITY}|(?:{'|'.join(PEOPLE)}) [A-Z]")


def replace_names(source: str, target: str, rng: Random) -> tuple[str, str] | None:
    """Put other names in the place of these, on both sides.

    Returns None where there is none, where one side has other names than the other, or where a name is part
    of a longer one (Tom Jackson, South Boston).
    """
    found = set(_NAME.findall(source))
    if not found or found != set(_NAME.findall(target)) or _PART_OF_LONGER.search(source):
        return None
    others: dict[str, tuple[str, str]] = {}
    for name in sorted(found):
        if name == CITY:
            city = rng.choice(tables.cities())
            others[name] = city.english, city.italian
        else:
            other = _other_name(PEOPLE[name], rng, [said for said, _ in others.values()])
            others[name] = other, other
    said = _NAME.sub(lambda match: others[match[1]][0], source)
    return said, _with_names(target, {name: italian for name, (_, italian) in others.items()})


def _other_name(gender: Gender, rng: Random, taken: Collection[str]) -> str:
    name = draw_first_name(rng, gender).name
    while name in taken:
        name = draw_first_name(rng, gender).name
    return f"{name} {draw_surname(rng)}" if rng.random() < FULL_NAMES else name


def _with_names(target: str, others: Mapping[str, str]) -> str:
    """Replace the names of an Italian sentence; a and e before one become ad and ed where they have to."""

    def replaced(match: re.Match[str]) -> str:
        before, name = match["before"], others[match["name"]]
        if not before:
            return name
        joined = italian.euphonic(before[0].lower(), name.lower())
        return f"{before[0]}{joined[1:]} {name}"

    return _NAME_AFTER_VOWEL.sub(replaced, target)
