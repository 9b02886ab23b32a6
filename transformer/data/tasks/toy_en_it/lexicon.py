"""The words of the task: tables (nouns, adjectives, verbs and idioms, each in a .tsv) and the closed classes.

An English word, in the place where the grammar uses it, has exactly one Italian counterpart.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, cast

from transformer.data.tasks.toy_en_it.italian import Gender

Aspect = Literal["action", "event", "state", "motion", "giving"]

ANIMATE = frozenset({"person", "kin", "animal"})
_TAGGED = ("tags", "describes", "subject", "object")


@dataclass(frozen=True)
class Noun:
    """A noun; `plural` and `plurale` are empty for what can't be counted."""

    english: str
    plural: str
    italian: str
    plurale: str
    gender: str
    tags: frozenset[str]

    @property
    def countable(self) -> bool:
        """Whether it has a plural or takes a or an."""
        return "mass" not in self.tags

    def gender_of(self, *, plural: bool) -> Gender:
        """Its gender; uovo changes it: l'uovo, le uova."""
        return cast(Gender, self.gender[-1] if plural else self.gender[0])


@dataclass(frozen=True)
class Adjective:
    """An adjective; `comparative` is empty where none is used, `describes` holds tags of nouns it suits.

    `place` is where Italian puts it: before or after the noun.
    """

    english: str
    comparative: str
    italian: str
    place: Literal["before", "after"]
    describes: frozenset[str]


@dataclass(frozen=True)
class Verb:
    """A verb; its past and participle are empty where Italian would need the imperfect.

    `subject` and `object` are tags of nouns. For intransitive verbs `object` is empty or tells which places
    may follow. States have no progressive form, events no habitual present; giving needs someone to give to.
    """

    english: str
    past: str
    participle: str
    italian: str
    auxiliary: str
    participio: str
    subject: frozenset[str]
    object: frozenset[str]
    aspect: Aspect

    @property
    def past_looks_present(self) -> bool:
        """Whether only a time adverb tells the past from the present, as in read."""
        return self.past == self.english


def _rows(name: str) -> list[dict[str, Any]]:
    """The rows of a table by column: "-" is an empty cell, and a column of `_TAGGED` holds tags."""
    with (Path(__file__).parent / name).open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [{column: _cell(column, text) for column, text in row.items()} for row in rows]


def _cell(column: str, text: str) -> str | frozenset[str]:
    text = "" if text == "-" else text
    if column not in _TAGGED:
        return text
    tags = frozenset(text.split())
    return (tags - {"animate"}) | ANIMATE if "animate" in tags else tags


NOUNS = tuple(Noun(**row) for row in _rows("nouns.tsv"))
ADJECTIVES = tuple(Adjective(**row) for row in _rows("adjectives.tsv"))
VERBS = tuple(Verb(**row) for row in _rows("verbs.tsv"))
IDIOMS = tuple((row["english"], row["italian"], row["links"]) for row in _rows("idioms.tsv"))
"""English, Italian, and which word goes with which."""


def pick_entry(rng: Random, words: Mapping[str, str]) -> tuple[str, str]:
    """Pick a word of a table, and its translation."""
    return rng.choice(list(words.items()))


NAMES: dict[str, Gender] = {
    "maria": "f", "anna": "f", "giulia": "f", "sofia": "f", "elena": "f", "chiara": "f",
    "marco": "m", "luca": "m", "paolo": "m", "giovanni": "m", "pietro": "m", "antonio": "m",
}  # fmt: skip

TOWNS = {
    "rome": "roma", "milan": "milano", "florence": "firenze", "venice": "venezia", "naples": "napoli",
    "turin": "torino", "london": "londra", "paris": "parigi",
}  # fmt: skip

NUMBERS = {
    "two": "due", "three": "tre", "four": "quattro", "five": "cinque", "six": "sei", "seven": "sette",
    "eight": "otto", "nine": "nove", "ten": "dieci",
}  # fmt: skip

AGES = NUMBERS | {"twelve": "dodici", "twenty": "vent'", "thirty": "trent'", "forty": "quarant'"}
"""Before anni, which elides the tens: vent'anni."""

SUBJECT_PRONOUNS: dict[str, tuple[int, Gender]] = {
    "i": (0, "m"), "you": (1, "m"), "he": (2, "m"), "she": (2, "f"), "we": (3, "m"), "they": (5, "m"),
}  # fmt: skip
"""Person and gender. Conventions: i, you, we and they are masculine, you is one person (tu)."""

OBJECT_CLITICS = {
    "me": "mi", "you": "ti", "him": "lo", "her": "la", "it": "lo", "us": "ci", "them": "li",
}  # fmt: skip
"""Convention: it and them are masculine."""

DATIVE_CLITICS = {"me": "mi", "you": "ti", "him": "gli", "her": "le", "us": "ci"}

DATIVE_OF_SUBJECT = {"i": "mi", "you": "ti", "he": "gli", "she": "le", "we": "ci", "they": "a loro"}
"""Who likes: i like the soup, mi piace la zuppa."""

PAST_TIMES = {
    "yesterday": "ieri", "this morning": "stamattina", "yesterday morning": "ieri mattina",
    "yesterday evening": "ieri sera",
}  # fmt: skip
PRESENT_TIMES = {
    "today": "oggi", "in the morning": "la mattina", "in the evening": "la sera", "on sundays": "la domenica",
    "on saturdays": "il sabato", "at night": "di notte", "every day": "ogni giorno",
    "every week": "ogni settimana",
    "every morning": "ogni mattina", "every evening": "ogni sera", "sometimes": "a volte",
}  # fmt: skip
PROGRESSIVE_TIMES = {"now": "adesso"}
FUTURE_TIMES = {
    "tomorrow": "domani", "tonight": "stasera", "tomorrow morning": "domani mattina", "soon": "presto",
    "tomorrow evening": "domani sera", "on monday": "lunedì", "on tuesday": "martedì",
    "on wednesday": "mercoledì",
    "on thursday": "giovedì", "on friday": "venerdì", "on saturday": "sabato", "on sunday": "domenica",
}  # fmt: skip

PERIODS: dict[str, tuple[str, Gender]] = {
    "week": ("settimana", "f"), "month": ("mese", "m"), "year": ("anno", "m"),
    "summer": ("estate", "f"), "winter": ("inverno", "m"),
}  # fmt: skip
"""For last week and next year."""

SPANS = {"days": "giorni", "weeks": "settimane", "months": "mesi", "years": "anni", "hours": "ore"}
"""For two days ago."""
