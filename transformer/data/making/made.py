"""All that is made for a corpus: its sentences with other names, frames filled, sentences joined."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from transformer.data.making import tables
from transformer.data.making.dictionary import Adjective, Verb, Words
from transformer.data.making.frames import FOLDER, Filler, Frame, read_frames
from transformer.data.making.joined import join
from transformer.data.making.names import replace_names
from transformer.data.tasks.pairs import drawn_for_evaluation
from transformer.data.tasks.toy_en_it.lexicon import Noun

Pair = tuple[str, str]

MOST_TRANSLATIONS = 4
_INTERNATIONAL = re.compile(
    "(ion|ity|ty|gy|my|phy|ment|ism|ist|ics?|ure|age|al|ar|ant|ent|ance|ence|ancy|ency|ive|or|er|ory|ary|ade|y)$"
)
_PRONOUN = re.compile(r"(Io|Tu|Noi|Voi|Lui|Lei|Loro|Egli|Ella|Essi|Esse) (?=.)")


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """How much is made.

    Attributes:
        renamed: the share of the corpus's sentences about Tom, Mary or Boston that get other names, in their place.
        per_noun, per_adjective, per_verb: sentences about each word of the dictionary, for a word of usual weight.
        per_frame: sentences of each frame of people, quantities, food and long ones.
        everyday: how often each whole sentence of the tables stands.
        unknown: sentences about things that do not exist, whose names are copied.
        joined: as many joined texts as this share of all other pairs.
    """

    renamed: float = 0.6
    per_noun: float = 2.0
    per_adjective: float = 1.5
    per_verb: float = 2.5
    per_frame: Mapping[str, int] = field(
        default_factory=lambda: {"people": 80, "quantities": 110, "food": 40, "long": 100}
    )
    everyday: int = 4
    unknown: int = 3000
    joined: float = 0.06


def normalized(sentence: str) -> str:
    """A sentence by which held-out ones are known: without capitals and punctuation."""
    return " ".join(re.findall(r"[\w']+", sentence.lower()))


def make(
    corpus: Sequence[Pair], words: Words, *, amounts: Amounts, held_out: frozenset[str], seed: int
) -> Iterator[tuple[str, Pair]]:
    """Make a training corpus of one, pair by pair, each with its kind.

    Kinds: "corpus" (as it stands), "renamed", "dictionary", "unknown", "people", "quantities", "food", "long",
    "everyday", "joined"; and "held out" for one in forty of those that are made of frames, never to be trained on.

    Args:
        corpus: source and target.
        words: of the dictionary.
        amounts: how much.
        held_out: sources, `normalized`, that must not be among what is made.
        seed: of all that is drawn.
    """
    rng = Random(seed)
    plain: list[Pair] = []
    for pair in usual(corpus):
        renamed = replace_names(*pair, rng) if rng.random() < amounts.renamed else None
        if renamed and normalized(renamed[0]) in held_out:
            renamed = None
        plain.append(renamed or pair)
        yield ("renamed" if renamed else "corpus"), plain[-1]
    for kind, pair in _made(words, amounts, rng):
        if drawn_for_evaluation(normalized(pair[0]).split()) and kind != "everyday":
            yield "held out", pair
        elif normalized(pair[0]) not in held_out:
            plain.append(pair)
            yield kind, pair
    for _ in range(round(amounts.joined * len(plain))):
        # As many short texts as long ones: their lengths grow evenly, up to sixty words.
        joined = join(rng.sample(plain, rng.choice([2, 2, 2, 3, 3, 4, 5, 6])), rng)
        if joined is not None:
            yield "joined", joined


def usual(corpus: Iterable[Pair]) -> Iterator[Pair]:
    """Pass a corpus on without translations that say no more than others of the same sentence.

    Of two that differ only in the subject pronoun at the beginning, the one without it stays, as Italians say
    it; and of what remains, the first `MOST_TRANSLATIONS`: volunteers wrote out all of tu, voi and Lei, in the
    masculine and the feminine, for some sentences and not for others.
    """
    translations: dict[str, dict[str, None]] = {}
    for source, target in corpus:
        translations.setdefault(source, {})[target] = None
    for source, targets in translations.items():
        left = [target for target in targets if _without_pronoun(target) not in targets]
        yield from ((source, target) for target in left[:MOST_TRANSLATIONS])


def _without_pronoun(sentence: str) -> str | None:
    found = _PRONOUN.match(sentence)
    return sentence[found.end()].upper() + sentence[found.end() + 1 :] if found else None


def _made(words: Words, amounts: Amounts, rng: Random) -> Iterator[tuple[str, Pair]]:
    filler = Filler(words, rng)
    yield from _of_words(words.nouns, "n", amounts.per_noun, read_frames(FOLDER / "nouns.tsv"), filler, rng)
    yield from _of_words(
        words.adjectives, "a", amounts.per_adjective, read_frames(FOLDER / "adjectives.tsv"), filler, rng
    )
    about_things = [frame for frame in read_frames(FOLDER / "nouns.tsv") if "n" in frame.variables]
    for _ in range(amounts.unknown):
        if pair := filler.fill(rng.choice(about_things), n=_unknown(words, rng)):
            yield "unknown", pair
    frames = read_frames(FOLDER / "verbs.tsv")
    for name in "vi":
        verbs = {verb: weight for verb, weight in words.verbs.items() if verb.transitive == (name == "v")}
        yield from _of_words(verbs, name, amounts.per_verb, frames, filler, rng)
    for kind, count in amounts.per_frame.items():
        for frame in read_frames(FOLDER / f"{kind}.tsv"):
            for _ in range(count):
                if pair := filler.fill(frame):
                    yield kind, pair
    for pair in everyday():
        yield from [("everyday", pair)] * amounts.everyday


def _unknown(words: Words, rng: Random) -> Noun:
    """A thing that does not exist; its name has no ending that Italian would know how to change."""
    word = ""
    while len(word) < 3 or _INTERNATIONAL.search(word):
        first, last = (noun.english for noun in rng.sample(list(words.nouns), 2))
        word = tables.spliced(first, last, rng).replace(" ", "").replace("-", "")
    return Noun(word, f"{word}s", word, word, "m", frozenset())


def everyday() -> list[Pair]:
    """Whole sentences that were written for this: greetings, the classroom, idioms."""
    with (FOLDER / "everyday.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        return [(source, target) for source, target in rows]


def _of_words(
    words: Mapping[Any, float], name: str, count: float, frames: Iterable[Frame], filler: Filler, rng: Random
) -> Iterator[tuple[str, Pair]]:
    """Sentences about each word, the more the more usual it is."""
    fitting = [frame for frame in frames if name in frame.variables]
    for word, weight in words.items():
        for frame in rng.sample(fitting, min(len(fitting), round(count * weight))):
            if pair := filler.fill(frame, **{name: word}):
                yield "dictionary", pair
