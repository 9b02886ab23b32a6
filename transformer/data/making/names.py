"""Other names in the sentences of a corpus: Tatoeba's people are nearly all Tom and Mary, and from Boston."""

from __future__ import annotations

import re
from random import Random

from transformer.data.making import tables
from transformer.data.tasks.toy_en_it import italian
from transformer.data.tasks.toy_en_it.italian import Gender

PEOPLE: dict[str, Gender] = {"Tom": "m", "Mary": "f", "John": "m", "Maria": "f"}
"""Who is replaced, each by a name of the same gender: Italian shows it."""
CITY = "Boston"
_NAME = re.compile(rf"\b({'|'.join([*PEOPLE, CITY])})\b")
_FULL_NAMES = 0.08


def replace_names(source: str, target: str, rng: Random) -> tuple[str, str] | None:
    """Put other names in the place of these, on both sides.

    Returns None where there is none, where one side has other names than the other, or where a name is part of a
    longer one (Tom Jackson, South Boston).
    """
    found = set(_NAME.findall(source))
    if (
        not found
        or found != set(_NAME.findall(target))
        or re.search(r"[A-Z]\w+ Boston|(?:Tom|Mary|John|Maria) [A-Z]", source)
    ):
        return None
    others: dict[str, tuple[str, str]] = {}
    for name in sorted(found):
        if name == CITY:
            city = rng.choice(tables.cities())
            others[name] = city.english, city.italian
        else:
            other = _name(PEOPLE[name], rng, [said for said, _ in others.values()])
            others[name] = other, other
    said = _NAME.sub(lambda match: others[match[1]][0], source)
    return said, _with_names(target, others)


def _with_names(target: str, others: dict[str, tuple[str, str]]) -> str:
    """Replace the names of an Italian sentence; a and e before one become ad and ed where they have to."""

    def replaced(match: re.Match[str]) -> str:
        before, name = match["before"] or "", others[match["name"]][1]
        if before.strip().lower() in ("a", "e", "ad", "ed"):
            word = before[0]
            joined = italian.euphonic(word.lower(), name.lower())
            before = f"{word}{joined[1:]} "
        return before + name

    return re.sub(
        rf"(?P<before>\b(?:ad?|ed?|A|E|Ad|Ed) )?\b(?P<name>{'|'.join([*PEOPLE, CITY])})\b", replaced, target
    )


def _name(gender: Gender, rng: Random, taken: list[str]) -> str:
    name = tables.draw_first_name(rng, gender).name
    while name in taken:
        name = tables.draw_first_name(rng, gender).name
    return f"{name} {tables.draw_surname(rng)}" if rng.random() < _FULL_NAMES else name
