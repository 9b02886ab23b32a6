"""Where, when, with whom: what may be added to a clause."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

from transformer.data.tasks.pairs import Phrase, TargetWord, idiom, phrase, source_words
from transformer.data.tasks.toy_en_it import italian
from transformer.data.tasks.toy_en_it.clauses import Tense
from transformer.data.tasks.toy_en_it.lexicon import (
    FUTURE_TIMES,
    NUMBERS,
    PAST_TIMES,
    PERIODS,
    PRESENT_TIMES,
    PROGRESSIVE_TIMES,
    SPANS,
    TOWNS,
    pick_entry,
)
from transformer.data.tasks.toy_en_it.noun_phrases import determine, noun_phrase, pick_noun, prepositional

_PREPOSITIONS = {
    "in": ("in", "in"), "at": ("at", "a"), "on": ("on", "su"), "under": ("under", "sotto"),
    "near": ("near", "vicino a"), "to": ("to", "a"),
}  # fmt: skip
"""By the tag of the nouns that they go with: the English and the Italian preposition."""

_FIXED_DESTINATIONS = {"home": "a casa", "to school": "a scuola", "to work": "al lavoro"}
_FIXED_LOCATIONS = {
    "at home": "a casa", "at school": "a scuola", "at work": "al lavoro", "outside": "fuori", "here": "qui",
}  # fmt: skip


def place(rng: Random, tag: str, *, among: Collection[str] = ()) -> Phrase:
    """Say where or where to: at the zoo, allo zoo.

    Args:
        tag: names the preposition: in, at, on, under, near or to.
        among: further tags, one of which the noun must have; empty for any.
    """
    noun = pick_noun(rng, {tag})
    while among and not noun.tags & frozenset(among):
        noun = pick_noun(rng, {tag})
    words, preposition = _PREPOSITIONS[tag]
    kind = "the" if tag in ("at", "to") else rng.choices(["the", "that", "a"], [20, 1, 2])[0]
    if "own" in noun.tags and rng.random() < 0.3:
        kind = "my"
    plural = tag in ("in", "near", "under") and rng.random() < 0.1 and kind == "the"
    np = determine(rng, kind, noun, plural=plural, adjectives=rng.random() < 0.4)
    return prepositional(source_words(words), preposition, np)


def location(rng: Random) -> Phrase:
    """Say where people and animals do something."""
    kind = rng.random()
    if kind < 0.1:
        return idiom(*pick_entry(rng, _FIXED_LOCATIONS))
    if kind < 0.2:
        return town(rng, "in")
    return place(rng, rng.choices(["in", "at", "on"], [5, 4, 1])[0], among={"place"})


def position(rng: Random) -> Phrase:
    """Say where a thing or an animal is."""
    return place(rng, rng.choices(["in", "on", "under", "near"], [3, 3, 2, 2])[0])


def destination(rng: Random) -> Phrase:
    """Say where to."""
    kind = rng.random()
    if kind < 0.15:
        return idiom(*pick_entry(rng, _FIXED_DESTINATIONS))
    return town(rng, "to") if kind < 0.35 else place(rng, "to")


def town(rng: Random, preposition: str) -> Phrase:
    """Name a town, in or to which Italian says a: to rome, a roma."""
    words, translation = pick_entry(rng, TOWNS)
    return phrase(preposition, italian.euphonic("a", translation)) + phrase(words, translation, content=True)


def company(rng: Random) -> Phrase:
    """Say with whom."""
    return prepositional(source_words("with"), "con", noun_phrase(rng, {"person", "kin"}))


def beneficiary(rng: Random) -> Phrase:
    """Say for whom."""
    return prepositional(source_words("for"), "per", noun_phrase(rng, {"person", "kin"}))


def time(rng: Random, tense: Tense) -> Phrase:
    """Say when, with a time that suits the tense; nothing for the perfect, which excludes one."""
    if tense == "past":
        kind = rng.random()
        if kind < 0.3:
            return _period(rng, "last", "scorso")
        return _ago(rng) if kind < 0.45 else idiom(*pick_entry(rng, PAST_TIMES))
    if tense in ("future", "can", "must", "want"):
        return (
            _period(rng, "next", "prossimo") if rng.random() < 0.25 else idiom(*pick_entry(rng, FUTURE_TIMES))
        )
    if tense == "perfect":
        return Phrase()
    return idiom(*pick_entry(rng, PROGRESSIVE_TIMES if tense == "progressive" else PRESENT_TIMES))


def _period(rng: Random, which: str, italian_which: str) -> Phrase:
    """Say last week, la settimana scorsa: the article and the adjective around the noun come from "last"."""
    english_noun, (noun, gender) = rng.choice(list(PERIODS.items()))
    (first,), (second,) = source_words(which), source_words(english_noun)
    article = italian.definite_article(gender, False, noun)
    adjective = italian.inflect(italian_which, gender, False)
    target = (TargetWord(article, (first,)), TargetWord(noun, (second,)), TargetWord(adjective, (first,)))
    return Phrase((first, second), target)


def _ago(rng: Random) -> Phrase:
    return phrase(*pick_entry(rng, NUMBERS)) + phrase(*pick_entry(rng, SPANS)) + phrase("ago", "fa")
