"""Words of Wiktionary's English-Italian dictionary; those that would mislead are left out.

A translation is taken if

1. its sense has no label of vulgar, offensive, slang, obsolete or figurative use; both words are single ones
   in lower case (the English one may be two), and a noun has one gender;
2. both directions of the dictionary have it: the Italian word's own entry explains it by the English word;
3. the English word is not too rare to be worth learning (`RAREST`), and the corpus does not have it often
   already (`KNOWN`): there it stands in its right sense;
4. neither is much rarer than the other (`MOST_APART`): a rare word for a common one is of a rare sense;
5. of an English word's translations that are left, it is the one confirmed for most senses, then the most
   frequent, unless that is a matter of chance: where the second one is confirmed for as many senses and is
   nearly as frequent (`CLOSE`), the English word is left out;
6. the rules of `forms` inflect it: verbs are regular, adjectives end in -o or -e;
7. no noun that was given has the same English word.

Frequencies are on the Zipf scale: see `Libraries`.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal, NamedTuple, cast

from transformer.data.making import forms
from transformer.data.making.libraries import Language, Libraries
from transformer.data.tasks.toy_en_it.italian import Gender
from transformer.data.tasks.toy_en_it.lexicon import Noun

MOST_APART = 1.7
CLOSE = 0.3
KNOWN = 40
"""Sentences."""
RAREST = 1.5
MOST_USUAL = 6.0
"""How often a word is used that is not rare, for each time that one of the rarest is."""
ENGLISH, ITALIAN = "dictionary.tsv.gz", "italian.tsv.gz"
"""Columns: English, part of speech, sense, Italian, gender; and Italian, part of speech, English."""

_ENGLISH_WORD = re.compile(r"[a-z]{2,}(?:[ -][a-z]{2,})?")
_ITALIAN_WORD = re.compile(r"[a-zàèéìòù]{2,}")
_LABELS = re.compile(
    r"\b(vulgar|offensive|slang|obsolete|archaic|dated|figurative\w*|derogatory|pejorative|sexual\w*|genitals?"
    r"|genitalia|intercourse|prostitut\w*|testicles?|homosexual\w*|transsexual\w*|penis|vagina|feces|excrement"
    r"|idiomatic|rare|euphemis\w*|colloquial|racial|slur)\b"
)
_UNFIT = frozenset(
    "lesbian gay homosexual transsexual bisexual bollocks negro escort rape rapist smooch fornicate "
    "ejaculate masturbate erection orgasm sperm semen whore faggot jew".split()
)
"""What a sentence made at random must not say of a thing or a person."""
_FEMININE = ("zione", "sione", "trice", "tà", "tù")
_ITALIAN_PARTS = {"adj": ("adj",), "v": ("vt", "vi", "v", "vit")}
"""What the Italian direction calls a part of speech; a noun is called by its gender."""
_ARTICLE = re.compile(r"^(a|an|the|to|any|some) ")
_AMBIGUOUS_START = re.compile("i[aeou]|w|j|pt|ct|x")
"""Sounds before which articles differ by usage: iodio, whisky."""


class DictionaryError(ValueError):
    """A folder without a dictionary that can be read; the message says what is wrong and what to do."""


class Rule(StrEnum):
    """Why a translation, or all that an English word has, is left out; the value is for people."""

    LABEL = "its sense, or the word, is not for every sentence"
    FORM = "not a word, or more than one"
    GENDER = "no gender, or two"
    ONE_DIRECTION = "not in both directions"
    RARE = "too rare"
    KNOWN = "known from the corpus"
    APART = "much rarer than its translation, or much more frequent"
    CHANCE = "two translations as usual as each other"
    IRREGULAR = "not inflected by rule"
    EVERYDAY = "in the table of everyday nouns"


@dataclass(frozen=True)
class Adjective:
    """An adjective, the Italian one in the masculine singular."""

    english: str
    italian: str


@dataclass(frozen=True)
class Verb:
    """A verb with the forms that frames need; `english` and `italian` are infinitives, regular in Italian."""

    english: str
    third_person: str
    ing: str
    italian: str
    transitive: bool


@dataclass(frozen=True)
class Words:
    """What was taken, and what was not.

    Attributes:
        nouns, adjectives, verbs: each with how often it is to be used, 1 for the rarest.
        translations_left_out: lines of the dictionary, by rule.
        words_left_out: English words, one for each part of speech, by rule.
    """

    nouns: Mapping[Noun, float]
    adjectives: Mapping[Adjective, float]
    verbs: Mapping[Verb, float]
    translations_left_out: Mapping[Rule, int]
    words_left_out: Mapping[Rule, int]

    def verbs_by(self, *, transitive: bool) -> dict[Verb, float]:
        """Those that take an object, or those that take none."""
        return {verb: weight for verb, weight in self.verbs.items() if verb.transitive == transitive}


class _Translation(NamedTuple):
    italian: str
    gender: str
    """m or f; empty for what is no noun."""


_Translations = Mapping[_Translation, int]
"""Of an English word, with the number of senses for which each is given."""
_Explained = Mapping[tuple[str, str], set[str]]
"""Of each Italian word and part of speech, the English words that explain it."""


def count_words(sentences: Iterable[str]) -> Counter[str]:
    """In how many of these sentences, each taken once, every word stands."""
    found: Counter[str] = Counter()
    for sentence in dict.fromkeys(sentences):
        found.update(set(re.findall(r"[a-z'-]+", sentence.lower())))
    return found


def read_words(
    folder: Path, known: Mapping[str, int], libraries: Libraries, everyday: Iterable[Noun] = ()
) -> Words:
    """Read the two directions of the dictionary and keep what does not mislead.

    Args:
        folder: with the files `ENGLISH` and `ITALIAN`.
        known: in how many sentences of the corpus each English word stands.
        libraries: for frequencies and English forms.
        everyday: nouns that are taken as they are, in place of what the dictionary has for them.

    Raises:
        DictionaryError: for a file that is missing or damaged.
    """
    explained = _explained(folder / ITALIAN)
    given, translations_left_out = _given(folder / ENGLISH)
    nouns = dict.fromkeys(everyday, MOST_USUAL)
    given_otherwise = {noun.english for noun in nouns}
    adjectives: dict[Adjective, float] = {}
    verbs: dict[Verb, float] = {}
    left_out: Counter[Rule] = Counter()
    for (english, part), translations in given.items():
        if part == "n" and english in given_otherwise:
            left_out[Rule.EVERYDAY] += 1
            continue
        confirmed = _confirmed(english, part, translations, explained)
        found = _choose(english, confirmed, known, libraries.frequency)
        if isinstance(found, Rule):
            left_out[found] += 1
            continue
        weight = min(MOST_USUAL, 1 + 4 * max(0.0, libraries.frequency(english, "en") - RAREST))
        if part == "n":
            nouns[_noun(english, found, libraries)] = weight
        elif part == "adj" and forms.is_inflected_by_rule(found.italian):
            adjectives[Adjective(english, found.italian)] = weight
        elif part == "v" and forms.is_regular(found.italian):
            verbs[_verb(english, found.italian, explained, libraries)] = weight
        else:
            left_out[Rule.IRREGULAR] += 1
    return Words(nouns, adjectives, verbs, translations_left_out, left_out)


def _given(path: Path) -> tuple[Mapping[tuple[str, str], _Translations], Mapping[Rule, int]]:
    """Of each English word and part of speech its translations, and how many lines were left out."""
    given: dict[tuple[str, str], Counter[_Translation]] = defaultdict(Counter)
    left_out: Counter[Rule] = Counter()
    for english, part, sense, italian, tags in _rows(path, 5):
        if part not in ("n", "adj", "v"):
            continue
        if rule := _unfit(english, part, sense, italian, tags):
            left_out[rule] += 1
        else:
            given[english, part][_Translation(italian, tags if part == "n" else "")] += 1
    return given, left_out


def _unfit(english: str, part: str, sense: str, italian: str, tags: str) -> Rule | None:
    if _LABELS.search(sense) or english in _UNFIT:
        return Rule.LABEL
    if not _ENGLISH_WORD.fullmatch(english) or not _ITALIAN_WORD.fullmatch(italian):
        return Rule.FORM
    if _AMBIGUOUS_START.match(italian):
        return Rule.FORM
    if part == "n" and (tags not in ("m", "f") or (tags == "m" and italian.endswith(_FEMININE))):
        return Rule.GENDER
    return None


def _explained(path: Path) -> _Explained:
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for italian, part, gloss in _rows(path, 3):
        if not _LABELS.search(gloss):
            found[italian, part].update(_glosses(gloss))
    return found


def _glosses(explanation: str) -> Iterator[str]:
    """The words in an explanation: to sleep (soundly), slumber."""
    for item in re.split(r"[,;/]| or ", re.sub(r"\([^)]*\)", "", explanation)):
        if word := _ARTICLE.sub("", item.strip().rstrip(".").lower()):
            yield word


def _confirmed(
    english: str, part: str, translations: _Translations, explained: _Explained
) -> dict[_Translation, int]:
    """Those whose own entry explains them by the English word."""
    return {
        translation: count
        for translation, count in translations.items()
        if any(
            english in explained.get((translation.italian, name), ())
            for name in _ITALIAN_PARTS.get(part, (translation.gender,))
        )
    }


def _choose(
    english: str,
    confirmed: _Translations,
    known: Mapping[str, int],
    frequency: Callable[[str, Language], float],
) -> _Translation | Rule:
    """An English word's translation, or the rule that leaves the word out."""
    if not confirmed:
        return Rule.ONE_DIRECTION
    usual, is_single = frequency(english, "en"), " " not in english
    if usual < RAREST:
        return Rule.RARE
    if is_single and known.get(english, 0) >= KNOWN:
        return Rule.KNOWN
    alike = {
        translation: (count, frequency(translation.italian, "it"))
        for translation, count in confirmed.items()
        if not is_single or abs(frequency(translation.italian, "it") - usual) <= MOST_APART
    }
    if not alike:
        return Rule.APART
    ranked = sorted(alike, key=alike.__getitem__, reverse=True)
    if len(ranked) > 1:
        (count, first), (other, second) = alike[ranked[0]], alike[ranked[1]]
        if count == other and first - second < CLOSE:
            return Rule.CHANCE
    return ranked[0]


def _noun(english: str, translation: _Translation, libraries: Libraries) -> Noun:
    """A noun with its plurals, or without where one of the languages has none."""
    plural = forms.english_plural(english, libraries)
    plurale = forms.plurale(translation.italian, cast(Gender, translation.gender)) if plural else None
    plurals = (plural, plurale) if plural and plurale else ("", "")
    return Noun(english, plurals[0], translation.italian, plurals[1], translation.gender, frozenset())


def _verb(english: str, italian: str, explained: _Explained, libraries: Libraries) -> Verb:
    first, *rest = english.split(" ")
    return Verb(
        english,
        " ".join([libraries.inflect(first, "VBZ"), *rest]),
        " ".join([libraries.inflect(first, "VBG"), *rest]),
        italian,
        transitive=any(english in explained.get((italian, part), ()) for part in ("vt", "vit")),
    )


def _rows(path: Path, columns: Literal[3, 5]) -> Iterator[list[str]]:
    """The lines of a file that have so many columns."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                row = line.rstrip("\n").split("\t")
                if len(row) == columns:
                    yield row
    except FileNotFoundError as error:
        raise DictionaryError(
            f"There is no file {path}: name the folder that has {ENGLISH} and {ITALIAN}."
        ) from error
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DictionaryError(f"{path} can't be read ({error}): fetch it again.") from error
