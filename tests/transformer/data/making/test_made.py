"""What is made for a corpus: of every kind, without what is held out, the same for the same seed."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from tests.transformer.data.making.small import WORDS
from transformer.data.making.joined import Pair
from transformer.data.making.made import (
    KINDS,
    MOST_TRANSLATIONS,
    Amounts,
    Kind,
    WholeKind,
    make,
    normalized,
    usual,
    whole_sentences,
)

CORPUS: list[Pair] = [(f"Tom has {count} books.", f"Tom ha {count} libri.") for count in range(2, 60)]
FEW = Amounts(
    per_frame={"people": 1, "quantities": 2, "food": 1, "long": 1},
    whole={"everyday": 1, "written": 1},
    unknown=100,
    joined=0.1,
)


FRAMED = ("dictionary", "unknown", "people", "quantities", "food", "long", "held out")


def made(held_out: Iterable[str] = (), seed: int = 1) -> list[tuple[Kind, Pair]]:
    return list(make(CORPUS, WORDS, amounts=FEW, held_out=frozenset(held_out), seed=seed))


@pytest.fixture(scope="module")
def whole() -> list[tuple[Kind, Pair]]:
    return made()


def test_every_kind_is_made(whole: list[tuple[Kind, Pair]]) -> None:
    assert {kind for kind, _ in whole} == set(KINDS)


def test_all_of_the_corpus_stands_in_its_place(whole: list[tuple[Kind, Pair]]) -> None:
    first = whole[: len(CORPUS)]
    assert {kind for kind, _ in first} == {"corpus", "renamed"}
    assert [source.split()[-2] for _, (source, _) in first] == [source.split()[-2] for source, _ in CORPUS]


def test_the_same_seed_makes_the_same(whole: list[tuple[Kind, Pair]]) -> None:
    assert made() == whole
    assert made(seed=2) != whole


def test_pairs_are_two_texts_on_a_line(whole: list[tuple[Kind, Pair]]) -> None:
    assert all(side and not {"\t", "\n"} & set(side) for _, pair in whole for side in pair)


def test_what_is_held_out_by_its_source_is_never_made(whole: list[tuple[Kind, Pair]]) -> None:
    """Nor with other capitals and punctuation; frames and new names both would make some."""
    chosen = [pair[0] for kind, pair in whole if kind in ("renamed", "food", "quantities")]
    held_out = {normalized(source) for source in chosen}
    again = [
        normalized(pair[0]) for kind, pair in made(held_out) if kind not in ("corpus", "joined", "held out")
    ]
    assert again
    assert held_out.isdisjoint(again)


def test_pairs_to_validate_with_are_none_of_those_to_train_on(whole: list[tuple[Kind, Pair]]) -> None:
    apart = {normalized(pair[0]) for kind, pair in whole if kind == "held out"}
    assert apart.isdisjoint(normalized(pair[0]) for kind, pair in whole if kind != "held out")
    frames = [kind for kind, _ in whole if kind in FRAMED]
    assert 0.01 < len(apart) / len(frames) < 0.05


def test_unknown_words_are_copied(whole: list[tuple[Kind, Pair]]) -> None:
    known = {word for noun in WORDS.nouns for word in (noun.italian, noun.plurale)}
    for source, target in (pair for kind, pair in whole if kind == "unknown"):
        words, parole = (set(re.findall(r"\w+", side.lower())) for side in (source, target))
        same = parole & (words | {word.removesuffix("s") for word in words})
        assert same - known, (source, target)


@pytest.mark.parametrize("kind", FEW.whole)
def test_whole_sentences_have_no_slots_and_stand_once(kind: WholeKind) -> None:
    pairs = whole_sentences(kind)
    assert len({normalized(source) for source, _ in pairs}) == len(pairs) >= 1000
    assert not any(set("{}|") & set(side) for pair in pairs for side in pair)


def test_a_pronoun_more_is_no_other_translation() -> None:
    corpus = [
        ("I love you.", "Io vi amo."),
        ("I love you.", "Vi amo."),
        ("I love you.", "Ti amo."),
        ("He sings.", "Lui canta."),
        ("I love you.", "Ti amo."),
    ]
    assert list(usual(corpus)) == [
        ("I love you.", "Vi amo."),
        ("I love you.", "Ti amo."),
        ("He sings.", "Lui canta."),
    ]


def test_a_sentence_has_few_translations() -> None:
    corpus = [("Go.", f"Vai {count}.") for count in range(9)]
    assert list(usual(corpus)) == corpus[:MOST_TRANSLATIONS]


@pytest.mark.parametrize("sentence", ["It's 5 o'clock!", "it's 5 O'CLOCK", "  It's 5, o'clock."])
def test_capitals_and_punctuation_make_no_other_sentence(sentence: str) -> None:
    assert normalized(sentence) == "it's 5 o'clock"
