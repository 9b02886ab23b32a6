"""People, places, companies, jobs and dishes in both languages: tables/README.md says what each has."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from transformer.data.tasks.toy_en_it.italian import Gender
from transformer.data.tasks.toy_en_it.lexicon import Noun

FOLDER = Path(__file__).parent / "tables"


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


@dataclass(frozen=True)
class Company:
    """A company, an organisation or a product, the same in both languages."""

    name: str


def read_table(path: Path) -> list[list[str]]:
    """Read the rows of a table but for its header; "-" is an empty cell."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        return [["" if cell == "-" else cell for cell in row] for row in rows]


def _rows(name: str) -> list[list[str]]:
    return read_table(FOLDER / f"{name}.tsv")


@cache
def first_names() -> tuple[FirstName, ...]:
    """A thousand, of many languages."""
    return tuple(FirstName(name, "f" if gender == "f" else "m") for name, gender, _ in _rows("names"))


@cache
def surnames() -> tuple[str, ...]:
    """Family names."""
    return tuple(name for name, _ in _rows("surnames"))


@cache
def companies() -> tuple[Company, ...]:
    """Companies, organisations and products."""
    return tuple(Company(name) for (name,) in _rows("companies"))


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
    return _nouns("foods")


@cache
def everyday_nouns() -> tuple[Noun, ...]:
    """Things, animals and people of every day, each with what an Italian would say."""
    return _nouns("nouns")


def _nouns(table: str) -> tuple[Noun, ...]:
    return tuple(
        Noun(english, plural, italian, plurale, gender, frozenset())
        for english, plural, italian, plurale, gender in _rows(table)
    )
