"""The built-in English-Italian task: 20,000 sentence pairs with their word links, tags and agreement.

A synchronous grammar generated the pairs and their annotation; its code is in the Git history, last at commit
dfdc297 in transformer/data/tasks/toy_en_it. Each English sentence has one translation. Where Italian must
express what English leaves open, these conventions apply:

- you is one person, called tu; i, you, we, they and them are masculine, and so is "it" as an object;
- friend, teacher, doctor and other persons are masculine unless English has a word of its own (actress,
  waitress, queen); nurse is infermiera;
- the past tense and the present perfect are both the passato prossimo, but was and were the imperfect; the
  present progressive is stare with the gerund; can is potere, also where one has learnt it (sapere);
- what is "che cosa"; they like is "a loro piace"; to live is abitare;
- an object pronoun goes before a modal verb (lo posso vedere); after avere the participle agrees with lo, la
  and li, but not with mi, ti and ci;
- lo and la are elided before every vowel and h; questo and buona never are, quello and bello always.

Each row of toy_en_it.tsv.gz is a pair, in UTF-8, with tabs between its cells and spaces inside them:

- its split: "held-out", the 1,000 sentences that the card of the shipped model toy-en-it scores (seed 2017),
  or "train", 19,000 of the 400,000 that it learnt from (seed 1): those needed for each word of its
  vocabularies to be in three where it is in as many, then the earliest others. No Italian sentence is in both
  splits, whatever mark it ends with;
- the English words, then the Italian ones;
- a tag for each English word, then for each Italian one: its part of speech in Universal Dependencies' terms
  (https://universaldependencies.org/u/pos); a preposition joined with an article (nel) is ADP;
- word links: 2-3 joins English word 2 with Italian word 3, counted from 0; 2=3 adds that the two could be any
  other word of their kind;
- agreement: 2-3:fs says that Italian word 3 has its form because English word 2 (the noun, the name, or the
  pronoun that Italian may drop) is feminine singular; 2-3:1p, that it is first person plural.

Each row of toy_en_it_minimal.tsv.gz is a `MinimalPair`: "gender" or "number", the six cells above (from the
English words on) for one sentence, and those for its feminine or plural counterpart.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Literal, cast

from transformer.data.tasks.pairs import SentencePair, Task

Feature = Literal["gender", "number"]


@dataclass(frozen=True)
class Agreement:
    """A target word that agrees with a source word, even if its form does not show it (as in verde).

    Attributes:
        source: index of the noun, name or pronoun that it agrees with; two joined by "and" count together.
        target: index of the article, adjective, pronoun, participle or verb that agrees.
        features: gender (m, f) and number (s, p), such as "fs"; for a finite verb person and number, such as
            "3p".
    """

    source: int
    target: int
    features: str


@dataclass(frozen=True)
class TaggedPair(SentencePair):
    """A pair of the table.

    Attributes:
        source_tags, target_tags: part of speech of each word.
        agreement: the target words that agree with source words.

    Raises:
        ValueError: for words without tags, or indices out of range.
    """

    source_tags: tuple[str, ...]
    target_tags: tuple[str, ...]
    agreement: tuple[Agreement, ...]

    def __post_init__(self) -> None:
        """Check that all tags, links and agreements refer to words."""
        n_source, n_target = len(self.source), len(self.target)
        links = [*self.alignment, *((agreed.source, agreed.target) for agreed in self.agreement)]
        tagged = (len(self.source_tags), len(self.target_tags)) == (n_source, n_target)
        if not tagged or not all(0 <= i < n_source and 0 <= j < n_target for i, j in links):
            raise ValueError(f"The tags or links of {' '.join(self.source)!r} are not those of its words.")


@dataclass(frozen=True)
class MinimalPair:
    """Two pairs that differ in one source word, and in its translation and the words that agree with it.

    Attributes:
        feature: the feature in which the agreement differs.
        first: the masculine or singular pair.
        second: the feminine or plural pair, with the same length, tags and links as the first.
    """

    feature: Feature
    first: TaggedPair
    second: TaggedPair

    @property
    def exchanged(self) -> int:
        """Index of the source word that differs."""
        (index,) = _differences(self.first.source, self.second.source)
        return index

    @property
    def changed(self) -> tuple[int, ...]:
        """Indices of the target words that differ."""
        return _differences(self.first.target, self.second.target)


class ToyEnIt(Task):
    """The task used for training and tests."""

    name = "toy-en-it"
    source_language = "en"
    target_language = "it"
    about = """\
A small Transformer that translates simple English sentences into Italian, made to be looked into. It reads
whole words in lower case, those of 20,000 sentences that a grammar made (`transformer/data/tasks`). Other
words are `<unk>` to it, and other constructions it has never seen."""
    limits = """\
- You is one person and a man, as are i, we and they where Italian must choose; further conventions are at the
  top of `transformer/data/tasks/toy_en_it.py`.
- Sentences are short (at most {longest} words in training). The positions reach to {max_len}, but longer
  sentences than those come out badly."""

    def pairs(self, seed: int, *, held_out: bool) -> Iterator[TaggedPair]:
        """Yield all pairs of one split repeatedly, each time in another order."""
        rng, rows = Random(seed), _rows("held-out" if held_out else "train")
        while True:
            yield from map(_pair, rng.sample(rows, len(rows)))


def minimal_pairs(feature: Feature) -> list[MinimalPair]:
    """Read the minimal pairs for gender or number, 200 of each."""
    rows = (row.partition("\t") for row in _table("toy_en_it_minimal.tsv.gz"))
    found = (cells.split("\t") for name, _, cells in rows if name == feature)
    return [MinimalPair(feature, *map(_pair, ("\t".join(f[:6]), "\t".join(f[6:])))) for f in found]


def _table(name: str) -> list[str]:
    return gzip.decompress((Path(__file__).parent / name).read_bytes()).decode().splitlines()


@cache
def _rows(split: str) -> tuple[str, ...]:
    rows = (row.partition("\t") for row in _table("toy_en_it.tsv.gz"))
    return tuple(cells for name, _, cells in rows if name == split)


@cache
def _pair(row: str) -> TaggedPair:
    """Read six cells of a row when needed; cached, because every round repeats the rows."""
    source, target, source_tags, target_tags, links, agreement = (
        tuple(cell.split()) for cell in row.split("\t")
    )
    return TaggedPair(
        source=source,
        target=target,
        alignment=frozenset(_link(text.replace("=", "-")) for text in links),
        replaceable=frozenset(_link(text, "=") for text in links if "=" in text),
        source_tags=source_tags,
        target_tags=target_tags,
        agreement=tuple(map(_agreement, agreement)),
    )


def _link(text: str, sign: str = "-") -> tuple[int, int]:
    return cast(tuple[int, int], tuple(map(int, text.split(sign))))


def _agreement(text: str) -> Agreement:
    link, _, features = text.partition(":")
    return Agreement(*_link(link), features)


def _differences(first: Sequence[str], second: Sequence[str]) -> tuple[int, ...]:
    return tuple(i for i, words in enumerate(zip(first, second, strict=True)) if words[0] != words[1])
