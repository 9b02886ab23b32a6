"""All that is made for a corpus: its sentences with other names, frames filled, sentences joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal, TypeAlias, TypeVar, get_args

from transformer.data.making.dictionary import Adjective, Verb, Words
from transformer.data.making.filling import Filler
from transformer.data.making.frames import FOLDER, Frame, read_frames
from transformer.data.making.joined import Pair, join
from transformer.data.making.marks import marked
from transformer.data.making.names import spliced
from transformer.data.making.renaming import replace_names
from transformer.data.making.tables import read_table
from transformer.data.tasks.pairs import drawn_for_evaluation
from transformer.data.tasks.toy_en_it.lexicon import Noun

Kind: TypeAlias = Literal[
    "corpus", "renamed", "dictionary", "unknown", "people", "quantities", "food", "long", "everyday",
    "written", "marked", "joined", "held out",
]  # fmt: skip
"""The corpus as it stands, or how a pair was made; what is held out is never to be trained on."""
KINDS: tuple[Kind, ...] = get_args(Kind)
FrameKind: TypeAlias = Literal["people", "quantities", "food", "long"]
WholeKind: TypeAlias = Literal["everyday", "written"]

MOST_TRANSLATIONS = 4
_INTERNATIONAL = re.compile(
    "(ion|ity|ty|gy|my|phy|ment|ism|ist|ics?|ure|age|al|ar|ant|ent|ance|ence|ancy|ency|ive|or|er|ory|ary|ade|y)$"
)
_Word = TypeVar("_Word", Noun, Adjective, Verb)
_PRONOUN = re.compile(r"(Io|Tu|Noi|Voi|Lui|Lei|Loro|Egli|Ella|Essi|Esse) (?=.)")


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """How much is made.

    Attributes:
        renamed: the share of the corpus's sentences about Tom, Mary or Boston that get other names instead.
        per_noun, per_adjective, per_verb: sentences about each word of the dictionary, for one of weight 1.
        per_frame: sentences of each frame of people, quantities, food and long ones.
        whole: how often each whole sentence of the tables stands.
        unknown: sentences about things that do not exist, whose names are copied.
        marked: as many pairs with unusual signs as this share of all other pairs.
        joined: as many joined texts as this share of all these.
    """

    renamed: float = 0.6
    per_noun: float = 1.2
    per_adjective: float = 1.0
    per_verb: float = 1.5
    per_frame: Mapping[FrameKind, int] = field(
        default_factory=lambda: {"people": 100, "quantities": 60, "food": 40, "long": 50}
    )
    whole: Mapping[WholeKind, int] = field(default_factory=lambda: {"everyday": 6, "written": 6})
    unknown: int = 3000
    marked: float = 0.08
    joined: float = 0.045


def normalized(sentence: str) -> str:
    """A sentence by which held-out ones are known: without capitals and punctuation."""
    return " ".join(re.findall(r"[\w']+", sentence.lower()))


def make(
    corpus: Iterable[Pair], words: Words, *, amounts: Amounts, held_out: frozenset[str], seed: int
) -> Iterator[tuple[Kind, Pair]]:
    """Make what is to be trained on of a corpus, pair by pair, each with its kind.

    One in forty of the pairs that are made of frames is held out.

    Args:
        corpus: source and target.
        words: of the dictionary; two nouns or more, and an adjective and a verb of each kind.
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
        if drawn_for_evaluation(normalized(pair[0]).split()) and kind not in amounts.whole:
            yield "held out", pair
        elif normalized(pair[0]) not in held_out:
            plain.append(pair)
            yield kind, pair
    for _ in range(round(amounts.marked * len(plain))):
        pair, following = rng.sample(plain, 2)
        with_signs = marked(pair, following, rng)
        if with_signs is not None and normalized(with_signs[0]) not in held_out:
            plain.append(with_signs)
            yield "marked", with_signs
    for _ in range(round(amounts.joined * len(plain))):
        # As many short texts as long ones: their lengths grow evenly, up to sixty words.
        joined = join(rng.sample(plain, rng.choice([2, 2, 2, 3, 3, 4, 5, 6])), rng)
        if joined is not None:
            yield "joined", joined


def usual(corpus: Iterable[Pair]) -> Iterator[Pair]:
    """Pass a corpus on without translations that say no more than others of the same sentence.

    Of two that differ only in the subject pronoun at the beginning, the one without it stays, as Italians say
    it; and of what remains, the first `MOST_TRANSLATIONS`: volunteers wrote out all of tu, voi and Lei, in
    the masculine and the feminine, for some sentences and not for others.
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


def _made(words: Words, amounts: Amounts, rng: Random) -> Iterator[tuple[Kind, Pair]]:
    """All that is made without the corpus, in the order in which it is drawn."""
    filler = Filler(words, rng)
    nouns, adjectives, verbs = (_frames(name) for name in ("nouns", "adjectives", "verbs"))
    transitive, intransitive = words.verbs_by(transitive=True), words.verbs_by(transitive=False)
    yield from _of_words(words.nouns, "n", amounts.per_noun, nouns, filler, rng)
    yield from _of_words(words.adjectives, "a", amounts.per_adjective, adjectives, filler, rng)
    about_things = _naming("n", nouns)
    for _ in range(amounts.unknown):
        if pair := filler.fill(rng.choice(about_things), {"n": _unknown(words, rng)}):
            yield "unknown", pair
    yield from _of_words(transitive, "v", amounts.per_verb, verbs, filler, rng)
    yield from _of_words(intransitive, "i", amounts.per_verb, verbs, filler, rng)
    for kind, count in amounts.per_frame.items():
        for frame in _frames(kind):
            for _ in range(count):
                if pair := filler.fill(frame):
                    yield kind, pair
    for whole, count in amounts.whole.items():
        for pair in whole_sentences(whole):
            for _ in range(count):
                yield whole, pair


def _unknown(words: Words, rng: Random) -> Noun:
    """A thing that does not exist; its name has no ending that Italian would know how to change."""
    word = ""
    while len(word) < 3 or _INTERNATIONAL.search(word):
        first, last = (noun.english for noun in rng.sample(list(words.nouns), 2))
        word = spliced(first, last, rng).replace(" ", "").replace("-", "")
    return Noun(word, f"{word}s", word, word, "m", frozenset())


def whole_sentences(kind: WholeKind) -> list[Pair]:
    """Whole sentences that were written for this: what people say, or read in newspapers and books."""
    return [(source, target) for source, target in read_table(FOLDER / f"{kind}.tsv")]


def _frames(name: str) -> list[Frame]:
    return read_frames(FOLDER / f"{name}.tsv")


def _naming(variable: str, frames: Iterable[Frame]) -> list[Frame]:
    return [frame for frame in frames if variable in frame.variables]


def _of_words(
    words: Mapping[_Word, float],
    variable: str,
    count: float,
    frames: Iterable[Frame],
    filler: Filler,
    rng: Random,
) -> Iterator[tuple[Kind, Pair]]:
    """Sentences about each word, the more the more usual it is, each of another frame."""
    fitting = _naming(variable, frames)
    for word, weight in words.items():
        for frame in rng.sample(fitting, min(len(fitting), round(count * weight))):
            if pair := filler.fill(frame, {variable: word}):
                yield "dictionary", pair
