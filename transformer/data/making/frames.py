"""Frames: sentences in both languages with slots, which are filled with words that agree with what is around them.

    I have never seen {a n}.        Non ho mai visto {un n}.
    {The n} that you bought is new. {Il n} che hai comprato è {nuovo|n}.

A slot names a variable and the form that it takes there. Variables are letters: n and m a noun, d food, p and q a
person, j a job, c a city, k a country, o a company, a an adjective, v a transitive verb, i an intransitive one, x a
speaker of either gender; or the names of `quantities`, with a digit where there are several. Forms are articles,
demonstratives, possessives and prepositions as they stand before the word; what stands before a bar agrees with the
word after it. The first letter of both sides becomes a capital.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, Generic, TypeVar

from transformer.data.making import forms, tables
from transformer.data.making.dictionary import Adjective, Verb, Words
from transformer.data.making.quantities import QUANTITIES, Quantity
from transformer.data.making.tables import City, Country, FirstName, Job
from transformer.data.tasks.toy_en_it import conjugation, english, italian
from transformer.data.tasks.toy_en_it.italian import Gender
from transformer.data.tasks.toy_en_it.lexicon import Noun

FOLDER = Path(__file__).parent / "tables" / "frames"

_SLOT = re.compile(r"\{([^}]*)\}")
_QUANTITY = re.compile(rf"(?:(?P<form>\S+) )?(?P<name>(?:{'|'.join(QUANTITIES)})\d?)")
_NOUN = re.compile(r"(?:(?P<determiner>[a-z]+) )?(?P<noun>[nmd])(?P<plural>s?)")
_NOUN_WITH_ADJECTIVE = re.compile(r"(?P<determiner>[a-z]+)?\+a (?P<noun>[nmd])(?P<plural>s?)")
_NOME = re.compile(
    r"(?:(?:(?P<preposition>di|a|da|in|su)\+)?(?P<determiner>[a-z]+) )?(?P<noun>[nmd])(?P<plural>s?)(?P<adjective>\+a)?"
)
_VERB = re.compile(r"(?P<name>[vi])(?:\+(?:s|ing)| (?:(?:fut |imp )?\d|ger|pp|tu!|voi!))?")
_PRONOUNS = {
    "he": "she", "him": "her", "his": "her", "himself": "herself", "son": "daughter", "brother": "sister",
    "father": "mother", "man": "woman", "boy": "girl", "Mr.": "Mrs.",
}  # fmt: skip
_PRONOMI = {"lui": "lei", "gli": "le", "dottore": "dottoressa", "signor": "signora", "il": "la", "un": "una"}
_POSSESSIVES = {
    "mio": "my",
    "tuo": "your",
    "suo": "his",
    "nostro": "our",
    "miei": "my",
    "tuoi": "your",
    "suoi": "his",
    "nostri": "our",
}


Word = TypeVar("Word")


class FrameError(ValueError):
    """A frame that can't be read; the message says which slot of it."""


@dataclass(frozen=True)
class Person:
    """Somebody of a sentence."""

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

    def takes(self, values: Mapping[str, Any]) -> bool:
        """Whether these words have all forms that the frame needs of them: a noun that can't be counted may not."""
        for slot in self.english[1::2]:
            found = _NOUN.fullmatch(slot) or _NOUN_WITH_ADJECTIVE.fullmatch(slot)
            if found and not values[found["noun"]].plural and (found["plural"] or found["determiner"] == "a"):
                return False
        return True


def read_frames(path: Path) -> list[Frame]:
    """Read a table of frames. Raises FrameError for a line that is none."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        return [_frame(*row) for row in rows]


def _frame(written: str, scritto: str) -> Frame:
    sides = tuple(_SLOT.split(written)), tuple(_SLOT.split(scritto))
    named = [frozenset(variable for slot in side[1::2] for variable in _variables(slot)) for side in sides]
    if (named[0] ^ named[1]) - {"x"}:
        raise FrameError(
            f"{written!r} and {scritto!r} do not name the same variables: {sorted(named[0] ^ named[1])}"
        )
    return Frame(*sides, named[0] | named[1])


def _variables(slot: str) -> Iterator[str]:
    """The names in a slot: the word that stands last before the bar, an adjective beside it, and what is agreed with."""
    head, _, agreeing = slot.partition("|")
    if quantity := _QUANTITY.fullmatch(head):
        yield quantity["name"]
    elif verb := _VERB.fullmatch(head):
        yield verb["name"]
    elif head == "a":
        yield "a"
    else:
        if "+a " in head or head.endswith("+a"):
            yield "a"
        name = re.split(r"[ +]", head.removesuffix("+a"))[-1]
        if re.fullmatch("[nmd]s?|[pqjcko]", name):
            yield name[0]
    if agreeing:
        yield agreeing[0]


@dataclass(frozen=True)
class Weighted(Generic[Word]):
    """Words, and how often each is drawn."""

    words: Sequence[Word]
    sums: Sequence[float]

    @classmethod
    def of(cls, weights: Mapping[Word, float]) -> Weighted[Word]:
        """Prepare what is drawn from many times."""
        return cls(list(weights), list(accumulate(weights.values())))

    def draw(self, rng: Random) -> Word:
        """Draw one."""
        return rng.choices(self.words, cum_weights=self.sums)[0]


class Filler:
    """Fills frames with words of a dictionary and of the tables.

    Args:
        words: of the dictionary.
        rng: what is drawn with.
    """

    def __init__(self, words: Words, rng: Random) -> None:
        self._rng = rng
        nouns, adjectives = Weighted.of(words.nouns), Weighted.of(words.adjectives)
        transitive = Weighted.of({verb: weight for verb, weight in words.verbs.items() if verb.transitive})
        intransitive = Weighted.of(
            {verb: weight for verb, weight in words.verbs.items() if not verb.transitive}
        )
        self._draw: dict[str, Callable[[], Any]] = {
            "n": lambda: nouns.draw(rng),
            "m": lambda: nouns.draw(rng),
            "d": lambda: rng.choice(tables.foods()),
            "p": self._person,
            "q": self._person,
            "j": lambda: rng.choice(tables.jobs()),
            "c": lambda: rng.choice(tables.cities()),
            "k": lambda: rng.choice(tables.countries()),
            "o": lambda: rng.choice(tables.companies()),
            "a": lambda: adjectives.draw(rng),
            "v": lambda: transitive.draw(rng),
            "i": lambda: intransitive.draw(rng),
            "x": lambda: rng.choice(["m", "f"]),
        }

    def _person(self) -> Person:
        return Person(tables.draw_first_name(self._rng), tables.draw_surname(self._rng))

    def fill(self, frame: Frame, **given: Any) -> tuple[str, str] | None:
        """Make a pair of sentences; None where what is given has not the forms that the frame needs.

        Args:
            frame: what is filled.
            given: values by variable; the others are drawn.
        """
        for _ in range(20):
            values = {
                name: given[name] if name in given else self._value(name) for name in sorted(frame.variables)
            }
            if "lang k" in frame.english and not values["k"].english_language:
                continue
            if frame.takes(values) and len(set(map(repr, values.values()))) == len(values):
                return _said(frame.english, values, _english), _said(frame.italian, values, _italian)
        return None

    def _value(self, name: str) -> Any:
        make = QUANTITIES.get(name.rstrip("0123456789"))
        return make(self._rng) if make else self._draw[name]()


def _said(
    side: Sequence[str], values: Mapping[str, Any], say: Callable[[str, Mapping[str, Any]], str]
) -> str:
    parts = list(side)
    for place in range(1, len(parts), 2):
        said = say(parts[place], values)
        if (
            parts[place].startswith("lo|")
            and re.match(" (h|[aeiouè])", parts[place + 1])
            and said in ("lo", "la")
        ):
            said, parts[place + 1] = "l'", parts[place + 1][1:]
        parts[place] = said
    whole = re.sub(r"\b([ae]) (?=\1)", r"\1d ", "".join(parts)) if say is _italian else "".join(parts)
    whole = re.sub(r"(?<=[^.]\.)\.$", "", whole)
    start = next(place for place, character in enumerate(whole) if character.isalnum())
    return whole[:start] + whole[start].upper() + whole[start + 1 :]


def _english(slot: str, values: Mapping[str, Any]) -> str:
    if quantity := _QUANTITY.fullmatch(slot):
        value: Quantity = values[quantity["name"]]
        kind = quantity["name"].rstrip("0123456789")
        return value.english[f"{quantity['form']} {kind}" if quantity["form"] else kind]
    if slot == "a":
        return str(values["a"].english)
    if (found := _NOUN.fullmatch(slot)) or (found := _NOUN_WITH_ADJECTIVE.fullmatch(slot)):
        noun: Noun = values[found["noun"]]
        word = noun.plural if found["plural"] else noun.english
        if "+a " in slot:
            word = f"{values['a'].english} {word}"
        determiner = english.indefinite_article(word) if found["determiner"] == "a" else found["determiner"]
        return f"{determiner} {word}" if determiner else word
    head, _, agreeing = slot.partition("|")
    if agreeing:
        return head if values[agreeing].gender == "m" else _PRONOUNS[head]
    return _english_word(head, values)


def _english_word(slot: str, values: Mapping[str, Any]) -> str:
    form, _, name = slot.rpartition(" ")
    base, _, ending = name.partition("+")
    match values[base]:
        case Person() as person:
            return person.full if form == "full" else person.first.name
        case Job(english=word):
            return f"{english.indefinite_article(word) if form == 'a' else form} {word}".strip()
        case City(english=word):
            return word
        case Country() as country:
            names = {"": country.english, "nat": country.english_adjective, "lang": country.english_language}
            return names[form]
        case Verb(english=verb):
            first, *rest = verb.split(" ")
            inflected = {"": str, "s": forms.third_person, "ing": forms.ing}[ending](first)
            return " ".join([inflected, *rest])
        case str() as company:
            return company
    raise FrameError(f"There is no English form {{{slot}}}.")


def _italian(slot: str, values: Mapping[str, Any]) -> str:
    head, _, agreeing = slot.partition("|")
    if agreeing:
        value, plural = values[agreeing[0]], agreeing.endswith("s")
        gender = (
            value
            if isinstance(value, str)
            else value.gender_of(plural=plural)
            if isinstance(value, Noun)
            else value.gender
        )
        return _agreeing(head, values, gender, plural)
    if quantity := _QUANTITY.fullmatch(slot):
        kind = quantity["name"].rstrip("0123456789")
        said: Quantity = values[quantity["name"]]
        return said.italian[f"{quantity['form']} {kind}" if quantity["form"] else kind]
    if found := _NOME.fullmatch(slot):
        return _noun_phrase(found, values)
    return _italian_word(head, values)


def _agreeing(head: str, values: Mapping[str, Any], gender: Gender, plural: bool) -> str:
    form, _, name = head.rpartition(" ")
    if head == "a":
        return italian.inflect(values["a"].italian, gender, plural)
    if name == "j":
        job: Job = values["j"]
        word = job.femminile if gender == "f" else job.maschile
        return _determined(form, word, gender, plural=False)
    if head == "nat k":
        return italian.inflect(values["k"].italian_adjective, gender, plural)
    if name.rstrip("0123456789") == "ordinal":
        return italian.inflect(values[name].italian["ordinal"], gender, plural)
    return agreeing_word(head, gender, plural)


def agreeing_word(word: str, gender: Gender, plural: bool) -> str:
    """Agree any word that is given in the masculine singular: stanco, mio, lo, lui."""
    if word in ("mio", "tuo", "suo", "nostro"):
        return italian.possessive(_POSSESSIVES[word], gender, plural)
    if word == "lo":
        return {"m": "li", "f": "le"}[gender] if plural else {"m": "lo", "f": "la"}[gender]
    if word in _PRONOMI:
        return _PRONOMI[word] if gender == "f" else word
    return italian.inflect(word, gender, plural)


def _noun_phrase(found: re.Match[str], values: Mapping[str, Any]) -> str:
    noun: Noun = values[found["noun"]]
    plural = bool(found["plural"])
    gender = noun.gender_of(plural=plural)
    word = noun.plurale if plural else noun.italian
    phrase = f"{word} {italian.inflect(values['a'].italian, gender, plural)}" if found["adjective"] else word
    return _determined(
        found["determiner"] or "", phrase, gender, plural=plural, preposition=found["preposition"] or ""
    )


def _determined(determiner: str, word: str, gender: Gender, *, plural: bool, preposition: str = "") -> str:
    """Put an article, demonstrative or possessive before a word, and a preposition before that."""
    if determiner in ("il", "i"):
        written = italian.definite_article(gender, plural, word.lower())
    elif determiner == "un":
        written = italian.indefinite_article(gender, word)
    elif determiner == "dei":
        written = italian.partitive(gender, plural, word)
    elif determiner in ("quel", "quei"):
        written = italian.that(gender, plural, word)
    elif determiner in ("questo", "questi"):
        written = italian.inflect("questo", gender, plural)
    elif determiner in _POSSESSIVES:
        owned = italian.possessive(_POSSESSIVES[determiner], gender, plural)
        article = italian.definite_article(gender, plural, owned)
        return f"{_fused(preposition, article)} {owned} {word}"
    elif determiner:
        written = agreeing_word(determiner, gender, plural)
    else:
        return word
    written = (
        _fused(preposition, written) if determiner in ("il", "i") else f"{preposition} {written}".strip()
    )
    return f"{written}{'' if written.endswith(chr(39)) else ' '}{word}"


def _fused(preposition: str, article: str) -> str:
    return (italian.fuse(preposition, article) or article) if preposition else article


def _italian_word(slot: str, values: Mapping[str, Any]) -> str:
    if _VERB.fullmatch(slot):
        return _conjugated(values[slot[0]].italian, slot[2:])
    preposition, _, rest = slot.rpartition("+")
    form, _, name = rest.rpartition(" ")
    match values[name]:
        case Person() as person:
            return _before(preposition, person.full if form == "full" else person.first.name)
        case City(italian=word):
            return _before(preposition, word)
        case Country() as country:
            return _of_country(country, form, preposition)
        case str() as company:
            return _before(preposition, company)
        case Job(maschile=word):
            return _determined(form, word, "m", plural=False, preposition=preposition)
    raise FrameError(f"There is no Italian form {{{slot}}}.")


def _of_country(country: Country, form: str, preposition: str) -> str:
    if form == "lang":
        word = country.italian_language
        article = italian.definite_article("m", False, word)
        whole = (
            _fused("" if preposition == "il" else preposition.removesuffix("+il"), article)
            if preposition
            else ""
        )
        return f"{whole}{'' if whole.endswith(chr(39)) or not whole else ' '}{word}"
    if form == "in":
        return country.inside
    if form == "da":
        return country.origin
    if not preposition:
        return country.italian
    article, joint, name = re.fullmatch(r"(?:(il|lo|la|i|gli|le|l)(['’ ]))?(.*)", country.italian).groups()  # type: ignore[union-attr]
    if article is None:
        return _before(preposition, name)
    fused = _fused(preposition, "l'" if article == "l" else article)
    return f"{fused}{'' if joint == chr(39) else ' '}{name}"


def _before(preposition: str, word: str) -> str:
    """Put a preposition or "e" before a name: a Marco, ad Anna."""
    return f"{italian.euphonic(preposition, word.lower())} {word}" if preposition else word


def _conjugated(infinitive: str, form: str) -> str:
    kind, _, person = form.partition(" ")
    if kind == "":
        return infinitive
    if kind.isdigit():
        return forms.present(infinitive, int(kind))
    if kind == "fut":
        return conjugation.future(infinitive, int(person))
    if kind == "imp":
        return forms.imperfect(infinitive, int(person))
    if kind == "ger":
        return conjugation.gerund(infinitive)
    if kind == "pp":
        return forms.participle(infinitive)
    if kind == "tu!":
        return forms.present(infinitive, 2 if infinitive.endswith("are") else 1)
    if kind == "voi!":
        return forms.present(infinitive, 4)
    raise FrameError(f"There is no form {form!r} of a verb.")
