"""What stands in a slot of a frame's English side."""

from __future__ import annotations

import re

from transformer.data.making.dictionary import Adjective, Verb
from transformer.data.making.frames import ENGLISH_NOUN, QUANTITY, FrameError, Values, quantity_said, value_of
from transformer.data.making.names import NamedPerson
from transformer.data.making.quantities import Quantity
from transformer.data.making.tables import City, Company, Country, Job
from transformer.data.tasks.toy_en_it import english
from transformer.data.tasks.toy_en_it.lexicon import Noun

_FEMININE = {
    "he": "she", "him": "her", "his": "her", "himself": "herself", "son": "daughter", "brother": "sister",
    "father": "mother", "man": "woman", "boy": "girl", "Mr.": "Mrs.",
}  # fmt: skip


def say(slot: str, values: Values) -> str:
    """Fill one slot. Raises FrameError for a form that there is not."""
    head, _, agreeing = slot.partition("|")
    if agreeing:
        return _FEMININE[head] if value_of(values, agreeing, NamedPerson).gender == "f" else head
    if quantity := QUANTITY.fullmatch(slot):
        return quantity_said(quantity, value_of(values, quantity["variable"], Quantity).english)
    if slot == "a":
        return value_of(values, "a", Adjective).english
    if noun := ENGLISH_NOUN.fullmatch(slot):
        return _noun_phrase(noun, values)
    return _word(slot, values)


def _noun_phrase(found: re.Match[str], values: Values) -> str:
    noun = value_of(values, found["noun"], Noun)
    word = noun.plural if found["plural"] else noun.english
    if found["adjective"]:
        word = f"{value_of(values, 'a', Adjective).english} {word}"
    return _determined(found["determiner"] or "", word)


def _determined(determiner: str, word: str) -> str:
    return f"{english.indefinite_article(word) if determiner == 'a' else determiner} {word}".strip()


def _word(slot: str, values: Values) -> str:
    form, _, name = slot.rpartition(" ")
    variable, _, ending = name.partition("+")
    match values[variable], form or ending:
        case NamedPerson() as person, "full":
            return person.full
        case NamedPerson() as person, "":
            return person.first.name
        case Job(english=word), determiner:
            return _determined(determiner, word)
        case City(english=word) | Company(name=word) | Country(english=word), "":
            return word
        case Country(english_adjective=word), "nat":
            return word
        case Country(english_language=word), "lang":
            return word
        case Verb(english=word), "":
            return word
        case Verb(third_person=word), "s":
            return word
        case Verb(ing=word), "ing":
            return word
    raise FrameError(f"There is no English form {{{slot}}}.")
