"""Words of Wiktionary's English-Italian dictionary, those left out that would mislead.

A translation is taken if

1. both directions of the dictionary have it: the Italian word's own entry explains it by the English word;
2. its sense has no label of vulgar, offensive, slang, obsolete or figurative use, and both are single words in
   lower case (the English one may be two);
3. neither is much rarer than the other (`MOST_APART`): a rare word for a common one is of a rare sense;
4. of an English word's translations that are left, it is the one confirmed for most senses, then the most
   frequent, unless that is a matter of chance: where the second one is confirmed for as many senses and is
   nearly as frequent (`CLOSE`), the English word is left out;
5. the corpus does not have the English word often already (`KNOWN`): there it stands in its right sense.

Frequencies are those of wordfreq (Speer 2022), on its scale of powers of ten in a thousand million words (Zipf).
"""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from wordfreq import zipf_frequency

from transformer.data.making import forms
from transformer.data.tasks.toy_en_it.italian import Gender
from transformer.data.tasks.toy_en_it.lexicon import Noun

MOST_APART = 1.7
CLOSE = 0.3
KNOWN = 40
"""Sentences."""
RAREST = 1.5
"""Zipf frequency of an English word that is worth learning."""
FILES = ("dictionary.tsv.gz", "italian.tsv.gz")

_ENGLISH = re.compile(r"[a-z]{2,}(?:[ -][a-z]{2,})?")
_ITALIAN = re.compile(r"[a-zàèéìòù]{2,}")
_LABELS = re.compile(
    r"\b(vulgar|offensive|slang|obsolete|archaic|dated|figurative\w*|derogatory|pejorative|sexual\w*|genitals?|genitalia"
    r"|intercourse|prostitut\w*|testicles?|homosexual\w*|transsexual\w*|penis|vagina|feces|excrement|idiomatic|rare|euphemis\w*|colloquial|racial|slur)\b"
)
_NOT_ABOUT_ANYTHING = frozenset(
    "lesbian gay homosexual transsexual bisexual bollocks negro escort rape rapist smooch fornicate ejaculate masturbate erection orgasm sperm semen whore faggot jew".split()
)
"""Words that a sentence made at random must not say of a thing or a person."""
_FEMININE = ("zione", "sione", "trice", "tà", "tù")
_ENTRIES = {"adj": ("adj",), "v": ("vt", "vi", "v", "vit")}
_ARTICLE = re.compile(r"^(a|an|the|to|any|some) ")


@dataclass(frozen=True)
class Adjective:
    """An adjective, the Italian one in the masculine singular."""

    english: str
    italian: str


@dataclass(frozen=True)
class Verb:
    """A verb, both as infinitives without "to"; Italian ones are regular."""

    english: str
    italian: str
    transitive: bool


@dataclass(frozen=True)
class Words:
    """What was taken, each kind with how often its words are to be used, and how many were left out by which rule."""

    nouns: Mapping[Noun, float]
    adjectives: Mapping[Adjective, float]
    verbs: Mapping[Verb, float]
    left_out: Mapping[str, int]


def read_words(folder: Path, known: Mapping[str, int]) -> Words:
    """Read the two directions of the dictionary and keep what does not mislead.

    Args:
        folder: with `FILES`.
        known: in how many sentences of the corpus each English word stands.
    """
    explained = _explained(folder / FILES[1])
    left_out: Counter[str] = Counter()
    senses = _senses(folder / FILES[0], left_out)
    nouns: dict[Noun, float] = {}
    adjectives: dict[Adjective, float] = {}
    verbs: dict[Verb, float] = {}
    for (english, part), translations in senses.items():
        confirmed = {
            (italian, tag): count
            for (italian, tag), count in translations.items()
            if any(english in explained.get((italian, entry), ()) for entry in _ENTRIES.get(part, (tag,)))
        }
        rule, chosen = _choose(english, confirmed, known)
        if chosen is None:
            left_out[rule] += 1
            continue
        italian, tag = chosen
        weight = 1 + max(0.0, zipf_frequency(english, "en") - RAREST)
        if part == "n":
            plural = forms.english_plural(english)
            plurale = forms.plurale(italian, cast(Gender, tag)) if plural else None
            nouns[
                Noun(english, plural if plurale and plural else "", italian, plurale or "", tag, frozenset())
            ] = weight
        elif part == "adj":
            if _is_inflected_by_rule(italian):
                adjectives[Adjective(english, italian)] = weight
        elif forms.is_regular(italian):
            is_transitive = english in explained.get((italian, "vt"), ()) or english in explained.get(
                (italian, "vit"), ()
            )
            verbs[Verb(english, italian, is_transitive)] = weight
    return Words(nouns, adjectives, verbs, left_out)


def _choose(
    english: str, confirmed: Mapping[tuple[str, str], int], known: Mapping[str, int]
) -> tuple[str, tuple[str, str] | None]:
    """The rule that leaves an English word out, or its translation."""
    if not confirmed:
        return "not in both directions", None
    frequency = zipf_frequency(english, "en")
    if frequency < RAREST:
        return "too rare", None
    if known.get(english.split(" ")[-1], 0) >= KNOWN and " " not in english:
        return "known from the corpus", None
    alike = {
        (italian, tag): (count, zipf_frequency(italian, "it"))
        for (italian, tag), count in confirmed.items()
        if " " in english or abs(zipf_frequency(italian, "it") - frequency) <= MOST_APART
    }
    if not alike:
        return "much rarer than its translation, or much more frequent", None
    ranked = sorted(alike, key=lambda one: alike[one], reverse=True)
    if len(ranked) > 1:
        (count, first), (other, second) = alike[ranked[0]], alike[ranked[1]]
        if count == other and first - second < CLOSE:
            return "two translations as usual as each other", None
    return "", ranked[0]


def _senses(path: Path, left_out: Counter[str]) -> dict[tuple[str, str], Counter[tuple[str, str]]]:
    """Of each English word and part of speech its translations, and in how many senses they are given."""
    found: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for english, part, sense, italian, tags in _rows(path, 5):
        if part not in ("n", "adj", "v"):
            continue
        if _LABELS.search(sense) or english in _NOT_ABOUT_ANYTHING:
            left_out["label of its sense"] += 1
        elif not (_ENGLISH.fullmatch(english) and _ITALIAN.fullmatch(italian)) or _ambiguous_start(italian):
            left_out["not a word, or more than one"] += 1
        elif part == "n" and (tags not in ("m", "f") or (tags == "m" and italian.endswith(_FEMININE))):
            left_out["no gender, or two"] += 1
        else:
            found[english, part][italian, tags if part == "n" else ""] += 1
    return found


def _ambiguous_start(italian: str) -> bool:
    """Whether the word begins with a sound before which articles differ by usage: iodio, whisky."""
    return bool(re.match("i[aeou]|w|j|pt|ct|x", italian))


def _is_inflected_by_rule(adjective: str) -> bool:
    return adjective.endswith(("o", "e")) and not adjective.endswith(("tore", "sore", "io"))


def _explained(path: Path) -> dict[tuple[str, str], set[str]]:
    """Of each Italian word and part of speech the English words that explain it."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for italian, part, gloss in _rows(path, 3):
        if not _LABELS.search(gloss):
            found[italian, part].update(_items(gloss))
    return found


def _items(gloss: str) -> Iterator[str]:
    for item in re.split(r"[,;/]| or ", re.sub(r"\([^)]*\)", "", gloss)):
        word = _ARTICLE.sub("", item.strip().rstrip(".").lower())
        if word:
            yield word


def _rows(path: Path, columns: Literal[3, 5]) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if len(row) == columns:
                yield row
