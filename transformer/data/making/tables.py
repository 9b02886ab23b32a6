"""Names of people, places, companies, jobs and dishes in both languages, as the tables beside this file have them."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from transformer.data.tasks.toy_en_it.italian import Gender
from transformer.data.tasks.toy_en_it.lexicon import Noun


@dataclass(frozen=True)
class FirstName:
    """A first name, the same in both languages."""

    name: str
    gender: Gender


@dataclass(frozen=True)
class City:
    """A city as both languages call it."""

    english: str
    italian: str


@dataclass(frozen=True)
class Country:
    """A country: English with its article, Italian with its article, and as "in" and "from" it are said."""

    english: str
    italian: str
    inside: str
    origin: str
    english_adjective: str
    italian_adjective: str
    english_language: str
    italian_language: str


@dataclass(frozen=True)
class Job:
    """A job, and what a man and a woman who have it are called in Italian."""

    english: str
    maschile: str
    femminile: str


def _rows(name: str) -> list[list[str]]:
    with (Path(__file__).parent / "tables" / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t")
        next(rows)
        return [["" if cell == "-" else cell for cell in row] for row in rows]


@cache
def first_names() -> tuple[FirstName, ...]:
    """A thousand, of many languages."""
    return tuple(FirstName(name, "f" if gender == "f" else "m") for name, gender, _ in _rows("names"))


@cache
def surnames() -> tuple[str, ...]:
    """Family names."""
    return tuple(name for name, _ in _rows("surnames"))


INVENTED = 0.25
"""The share of names that no table has: who learns a thousand names by heart copies no other."""


def draw_first_name(rng: Random, gender: Gender | None = None) -> FirstName:
    """Draw a first name of the table, or one spliced of two of them."""
    names = [name for name in first_names() if gender in (None, name.gender)]
    name = rng.choice(names)
    if rng.random() >= INVENTED:
        return name
    return FirstName(spliced(rng.choice(names).name, name.name, rng), name.gender)


def draw_surname(rng: Random) -> str:
    """Draw a surname of the table, or one spliced of two of them."""
    surname = rng.choice(surnames())
    return spliced(rng.choice(surnames()), surname, rng) if rng.random() < INVENTED else surname


def spliced(first: str, last: str, rng: Random) -> str:
    """Make a word that nobody knows: the beginning of one up to a vowel, and the end of another from one on."""
    return first[: rng.choice(_inner_vowels(first))] + last[rng.choice(_inner_vowels(last)) :]


def _inner_vowels(word: str) -> list[int]:
    return [match.start() for match in re.finditer("(?<=.)[aeiou]", word)] or [len(word) // 2]


@cache
def companies() -> tuple[str, ...]:
    """Companies, organisations and products."""
    return tuple(name for (name,) in _rows("companies"))


@cache
def cities() -> tuple[City, ...]:
    """Cities; those with an article in Italian are left out."""
    articles = ("Il ", "L'", "La ", "Le ")
    return tuple(
        City(english, italian) for english, italian, _ in _rows("cities") if not italian.startswith(articles)
    )


@cache
def countries() -> tuple[Country, ...]:
    """Countries."""
    return tuple(Country(*row) for row in _rows("countries"))


@cache
def jobs() -> tuple[Job, ...]:
    """Jobs and roles."""
    return tuple(Job(*row) for row in _rows("jobs"))


@cache
def foods() -> tuple[Noun, ...]:
    """Food and drink."""
    return tuple(
        Noun(english, plural, italian, plurale, gender, frozenset())
        for english, plural, italian, plurale, gender in _rows("foods")
    )
