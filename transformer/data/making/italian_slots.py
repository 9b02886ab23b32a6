"""What stands in a slot of a frame's Italian side: all that agrees, fuses or is conjugated."""

from __future__ import annotations

import re

from transformer.data.making import forms
from transformer.data.making.dictionary import Adjective, Verb
from transformer.data.making.frames import (
    QUANTITY,
    VERB,
    FrameError,
    Speaker,
    Values,
    quantity_said,
    value_of,
)
from transformer.data.making.names import NamedPerson
from transformer.data.making.quantities import Quantity
from transformer.data.making.tables import City, Company, Country, Job
from transformer.data.tasks.toy_en_it import conjugation, italian
from transformer.data.tasks.toy_en_it.italian import Gender
from transformer.data.tasks.toy_en_it.lexicon import Noun

_NOUN = re.compile(
    r"(?:(?:(?P<preposition>di|a|da|in|su)\+)?(?P<determiner>[a-z]+) )?"
    r"(?P<noun>[nmd])(?P<plural>s?)(?P<adjective>\+a)?"
)
_FEMININE = {"lui": "lei", "gli": "le", "dottore": "dottoressa", "signor": "signora", "il": "la", "un": "una"}
_POSSESSIVES = {
    "mio": "mio", "tuo": "tuo", "suo": "suo", "nostro": "nostro",
    "miei": "mio", "tuoi": "tuo", "suoi": "suo", "nostri": "nostro",
}  # fmt: skip
"""As they are written in a slot, in the singular."""


def say(slot: str, values: Values) -> str:
    """Fill one slot. Raises FrameError for a form that there is not."""
    head, _, agreeing = slot.partition("|")
    if agreeing:
        variables = agreeing.removesuffix("s")
        plural = variables != agreeing or len(variables) > 1
        genders = {_gender(variable, values, plural) for variable in variables}
        return _agreeing(head, values, "f" if genders == {"f"} else "m", plural)
    if quantity := QUANTITY.fullmatch(slot):
        return quantity_said(quantity, value_of(values, quantity["variable"], Quantity).italian)
    if noun := _NOUN.fullmatch(slot):
        return _noun_phrase(noun, values)
    if verb := VERB.fullmatch(slot):
        return _conjugated(value_of(values, verb["variable"], Verb).italian, verb["form"] or "")
    return _name(slot, values)


def _gender(variable: str, values: Values, plural: bool) -> Gender:
    match values[variable]:
        case Noun() as noun:
            return noun.gender_of(plural=plural)
        case NamedPerson(gender=gender) | Speaker(gender=gender):
            return gender
    raise FrameError(f"Nothing can agree with {variable}: it has no gender.")


def _agreeing(head: str, values: Values, gender: Gender, plural: bool) -> str:
    form, _, name = head.rpartition(" ")
    if head == "a":
        return italian.inflect(value_of(values, "a", Adjective).italian, gender, plural)
    if name == "j":
        job = value_of(values, "j", Job)
        return determined(form, job.femminile if gender == "f" else job.maschile, gender)
    if head == "nat k":
        return italian.inflect(value_of(values, "k", Country).italian_adjective, gender, plural)
    if quantity := QUANTITY.fullmatch(head):
        ordinal = quantity_said(quantity, value_of(values, quantity["variable"], Quantity).italian)
        return italian.inflect(ordinal, gender, plural)
    return agreeing_word(head, gender, plural)


def agreeing_word(word: str, gender: Gender, plural: bool) -> str:
    """Agree any word that is given in the masculine singular: stanco, mio, lo, lui."""
    if word in _POSSESSIVES:
        return italian.inflect_possessive(_POSSESSIVES[word], gender, plural)
    if word == "lo":
        return {"m": "li", "f": "le"}[gender] if plural else {"m": "lo", "f": "la"}[gender]
    if word in _FEMININE:
        return _FEMININE[word] if gender == "f" else word
    return italian.inflect(word, gender, plural)


def _noun_phrase(found: re.Match[str], values: Values) -> str:
    noun, plural = value_of(values, found["noun"], Noun), bool(found["plural"])
    gender = noun.gender_of(plural=plural)
    word = noun.plurale if plural else noun.italian
    if found["adjective"]:
        word = f"{word} {italian.inflect(value_of(values, 'a', Adjective).italian, gender, plural)}"
    return determined(
        found["determiner"] or "", word, gender, plural=plural, preposition=found["preposition"] or ""
    )


def determined(
    determiner: str, word: str, gender: Gender, *, plural: bool = False, preposition: str = ""
) -> str:
    """Put an article, demonstrative or possessive before a word, and a preposition before that.

    Args:
        determiner: in the masculine; empty for the word alone.
        word: what follows, whose sound decides: un amico, uno zio, nell'acqua.
        gender, plural: of the word.
        preposition: one that fuses with the article; empty for none.
    """
    if not determiner:
        return word
    if determiner in ("il", "i"):
        return _joined(_fused(preposition, italian.definite_article(gender, plural, word.lower())), word)
    if determiner in _POSSESSIVES:
        owned = italian.inflect_possessive(_POSSESSIVES[determiner], gender, plural)
        return f"{_fused(preposition, italian.definite_article(gender, plural, owned))} {owned} {word}"
    if determiner == "un":
        written = italian.indefinite_article(gender, word)
    elif determiner == "dei":
        written = italian.partitive(gender, plural, word)
    elif determiner in ("quel", "quei"):
        written = italian.that(gender, plural, word)
    elif determiner in ("questo", "questi"):
        written = italian.inflect("questo", gender, plural)
    else:
        written = agreeing_word(determiner, gender, plural)
    return _joined(f"{preposition} {written}".strip(), word)


def _joined(article: str, word: str) -> str:
    return f"{article}{word}" if article.endswith("'") else f"{article} {word}"


def _fused(preposition: str, article: str) -> str:
    return (italian.fuse(preposition, article) or article) if preposition else article


def _name(slot: str, values: Values) -> str:
    """A name, with a preposition before it: a+p, in k, di+il k, il+lang k."""
    preposition, _, rest = slot.rpartition("+")
    form, _, variable = rest.rpartition(" ")
    match values[variable], form:
        case NamedPerson() as person, "full":
            return _before_name(preposition, person.full)
        case NamedPerson() as person, "":
            return _before_name(preposition, person.first.name)
        case City(italian=name) | Company(name=name), "":
            return _before_name(preposition, name)
        case Country() as country, _:
            return _country(country, form, preposition)
        case Job(maschile=word), _:
            return determined(form, word, "m", preposition=preposition)
    raise FrameError(f"There is no Italian form {{{slot}}}.")


def _country(country: Country, form: str, preposition: str) -> str:
    match form, preposition:
        case "lang", ("" | "il"):
            return determined(preposition, country.italian_language, "m")
        case "in", "":
            return country.inside
        case "da", "":
            return country.origin
        case (("" | "il"), ""):
            return country.italian
    raise FrameError(f"There is no Italian form {form!r} of a country after {preposition!r}.")


def _before_name(preposition: str, name: str) -> str:
    """Put a preposition or "e" before a name: a Marco, ad Anna."""
    return f"{italian.euphonic(preposition, name.lower())} {name}" if preposition else name


def _conjugated(infinitive: str, form: str) -> str:
    tense, _, person = form.rpartition(" ")
    match tense or form:
        case "":
            return infinitive
        case "fut":
            return conjugation.future(infinitive, int(person))
        case "imp":
            return forms.imperfect(infinitive, int(person))
        case "ger":
            return conjugation.gerund(infinitive)
        case "pp":
            return forms.participle(infinitive)
        case "tu!":
            return forms.imperative(infinitive, 1)
        case "voi!":
            return forms.imperative(infinitive, 4)
        case _:
            return forms.present(infinitive, int(form))
