"""A small dictionary and what stands in for the libraries, for the tests of made sentences."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from transformer.data.making.dictionary import ENGLISH, ITALIAN, Adjective, Verb, Words
from transformer.data.making.libraries import InflectedForm, Language, Libraries
from transformer.data.tasks.toy_en_it.lexicon import Noun


def libraries(frequencies: Mapping[str, float] | None = None) -> Libraries:
    """All words are as frequent as each other, but for those that are given; English is regular."""

    def frequency(word: str, language: Language) -> float:
        return (frequencies or {}).get(word, 3.0)

    def inflect(word: str, form: InflectedForm) -> str:
        return word + {"NNS": "s", "VBZ": "s", "VBG": "ing"}[form]

    return Libraries(frequency, inflect)


def write_dictionary(folder: Path, given: Iterable[str], explained: Iterable[str]) -> Path:
    """Write both directions, with their headers; columns are separated by a bar."""
    files = {
        ENGLISH: ["english|pos|sense|italian|tags", *given],
        ITALIAN: ["italian|pos|english", *explained],
    }
    for name, lines in files.items():
        text = "".join(f"{line}\n" for line in lines).replace("|", "\t")
        (folder / name).write_bytes(gzip.compress(text.encode()))
    return folder


def noun(english: str, italian: str, plurale: str, gender: str) -> Noun:
    return Noun(english, f"{english}s" if plurale else "", italian, plurale, gender, frozenset())


OWL = noun("owl", "gufo", "gufi", "m")
ANT = noun("ant", "formica", "formiche", "f")
UNCLE = noun("uncle", "zio", "zii", "m")
TREE = noun("tree", "albero", "alberi", "m")
ISLAND = noun("island", "isola", "isole", "f")
KNAPSACK = noun("knapsack", "zaino", "zaini", "m")
AMBER = noun("amber", "ambra", "", "f")
WORDS = Words(
    nouns=dict.fromkeys((OWL, ANT, UNCLE, TREE, ISLAND, KNAPSACK, AMBER), 1.5),
    adjectives=dict.fromkeys((Adjective("hollow", "cavo"), Adjective("fragile", "fragile")), 1.0),
    verbs=dict.fromkeys(
        (
            Verb("polish", "polishes", "polishing", "lucidare", transitive=True),
            Verb("refine", "refines", "refining", "forbire", transitive=True),
            Verb("rummage", "rummages", "rummaging", "rovistare", transitive=False),
            Verb("wither", "withers", "withering", "appassire", transitive=False),
        ),
        1.0,
    ),
    translations_left_out=Counter(),
    words_left_out=Counter(),
)
