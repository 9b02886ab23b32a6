"""Frames: sentences in both languages with slots for words, which agree with what is around them.

    I have never seen {a n}.        Non ho mai visto {un n}.
    {the n} that you bought is new. {il n} che hai comprato è {nuovo|n}.

A slot names a variable, and the form that it takes there:

- n, m a noun, d food: {n} or {ns} in the plural, with a determiner before it ({the n}, {un n}, {mio ns}), an
  Italian preposition before that ({di+il n}), and an adjective: {the+a n} in English, {il n+a} in Italian;
- a an adjective alone, agreeing in Italian: {a|n};
- v a transitive verb, i an intransitive one: {v}, {v+s}, {v+ing}; in Italian {v 2} (the present of a person,
  numbered from 0 to 5), {v imp 0}, {v fut 3}, {v ger}, {v pp}, {v tu!}, {v voi!};
- p, q a person: {p} the first name, {full p}; {a+p} and {e+p} become ad and ed where they have to;
- j a job ({a j}, {un j|p}), c a city, o a company, k a country: {in k}, {da k}, its adjective {nat k},
  its language {lang k};
- x a speaker of either gender, with whom Italian words agree: {stanco|x};
- a name of `quantities.QUANTITIES`, with a digit where there are several: {time}, {at time2}, {alle time2}.

What stands before a bar agrees with the word after it: {nuovo|ns}, {he|p}. {stanco|pq} agrees with two
people: in the feminine where both are women. The first letter of both sides becomes a capital.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, TypeVar

from transformer.data.making import tables
from transformer.data.making.dictionary import Adjective, Verb
from transformer.data.making.names import NamedPerson
from transformer.data.making.quantities import QUANTITIES, Quantity
from transformer.data.making.tables import City, Company, Country, Job
from transformer.data.tasks.toy_en_it.italian import Gender
from transformer.data.tasks.toy_en_it.lexicon import Noun

FOLDER = tables.FOLDER / "frames"

QUANTITY = re.compile(rf"(?:(?P<form>\S+) )?(?P<variable>(?:{'|'.join(QUANTITIES)})\d?)")
ENGLISH_NOUN = re.compile(
    r"(?:(?P<determiner>[a-z]+)(?=[ +]))?(?P<adjective>\+a)? ?(?P<noun>[nmd])(?P<plural>s?)"
)
VERB = re.compile(r"(?P<variable>[vi])(?:\+(?:s|ing)| (?P<form>(?:fut |imp )?[0-5]|ger|pp|tu!|voi!))?")
_SLOT = re.compile(r"\{([^}]*)\}")
_LAST_WORD = re.compile(r"[nmd]s?|[pqjcko]")


class FrameError(ValueError):
    """A frame that can't be read or filled; the message says which slot of it."""


@dataclass(frozen=True)
class Speaker:
    """Who says a sentence."""

    gender: Gender


Value: TypeAlias = Noun | Adjective | Verb | NamedPerson | Speaker | Job | City | Country | Company | Quantity
Values: TypeAlias = Mapping[str, Value]
"""What the variables of a frame stand for, by their names."""
_Kind = TypeVar("_Kind")


def value_of(values: Values, variable: str, kind: type[_Kind]) -> _Kind:
    """What a variable stands for, which must be of a kind."""
    value = values[variable]
    if not isinstance(value, kind):
        raise FrameError(f"{variable} is {value}, where only a {kind.__name__} fits.")
    return value


def quantity_said(slot: re.Match[str], forms: Mapping[str, str]) -> str:
    """The form of a quantity that a slot asks for, of those of one language."""
    form = slot["form"] or ""
    if form not in forms:
        raise FrameError(f"There is no form {{{slot[0]}}}.")
    return forms[form]


@dataclass(frozen=True)
class Frame:
    """A sentence with slots.

    Attributes:
        english, italian: texts and slots by turns, a text first and last.
        variables: all that both sides name.
    """

    english: tuple[str, ...]
    italian: tuple[str, ...]
    variables: frozenset[str] = field(compare=False)

    def takes(self, values: Values) -> bool:
        """Whether these words have all forms that it needs: what can't be counted has no plural, and no a."""
        return all(_has_form(slot, values) for slot in self.english[1::2])


def _has_form(slot: str, values: Values) -> bool:
    if slot == "lang k":
        return bool(value_of(values, "k", Country).english_language)
    found = ENGLISH_NOUN.fullmatch(slot)
    if found is None or value_of(values, found["noun"], Noun).plural:
        return True
    return not found["plural"] and found["determiner"] != "a"


def read_frames(path: Path) -> list[Frame]:
    """Read a table of frames.

    Raises:
        FrameError: for a slot that names no variable, and for sides that name different ones.
    """
    return [_frame(written, scritto) for written, scritto in tables.read_table(path)]


def _frame(written: str, scritto: str) -> Frame:
    english, italian = tuple(_SLOT.split(written)), tuple(_SLOT.split(scritto))
    named, nominate = (
        frozenset(variable for slot in side[1::2] for variable in _variables(slot))
        for side in (english, italian)
    )
    if unlike := (named ^ nominate) - {"x"}:
        raise FrameError(f"{written!r} and {scritto!r} do not both name {', '.join(sorted(unlike))}.")
    return Frame(english, italian, named | nominate)


def _variables(slot: str) -> Iterator[str]:
    """Of a slot: the last word before the bar, an adjective beside it, and what is agreed with."""
    head, _, agreeing = slot.partition("|")
    if found := QUANTITY.fullmatch(head) or VERB.fullmatch(head):
        yield found["variable"]
    elif head == "a":
        yield "a"
    else:
        noun = head.removesuffix("+a")
        if "+a " in head or noun != head:
            yield "a"
        last = re.split(r"[ +]", noun)[-1]
        if _LAST_WORD.fullmatch(last):
            yield last[0]
        elif not agreeing:
            raise FrameError(f"{{{slot}}} names no variable.")
    if agreeing:
        yield from agreeing.removesuffix("s")
