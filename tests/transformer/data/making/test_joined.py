"""Sentences joined into longer texts."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from transformer.data.making.joined import MOST_WORDS, Pair, join

SENTENCES: list[Pair] = [
    ("The dog sleeps.", "Il cane dorme."),
    ("I saw it.", "L'ho visto."),
    ("Tom is here.", "Tom è qui."),
    ("Is it true?", "È vero?"),
    ("It is late.", "È tardi."),
    ("Wait...", "Aspetta..."),
    (" ".join(["very"] * 20) + ".", " ".join(["molto"] * 20) + "."),
    ("No end", "Senza fine"),
]


@given(st.lists(st.sampled_from(SENTENCES), min_size=2, max_size=6), st.integers(0, 9))
def test_never_longer_than_the_longest_and_all_is_in_it(pairs: list[Pair], seed: int) -> None:
    joined = join(pairs, Random(seed))
    if joined is None:
        return
    for side, sentences in zip(joined, zip(*pairs, strict=True), strict=True):
        assert len(side.split()) <= MOST_WORDS
        assert all(sentence.strip(".?").lower() in side.lower() for sentence in sentences)


@given(st.integers(0, 200))
def test_a_name_keeps_its_capital_and_other_words_lose_theirs(seed: int) -> None:
    joined = join([("It rains.", "Piove."), ("Tom is here.", "Tom è qui.")], Random(seed))
    assert joined == ("It rains. Tom is here.", "Piove. Tom è qui.")


def test_conjunctions() -> None:
    found = {join(SENTENCES[:2], Random(seed)) for seed in range(200)}
    assert ("The dog sleeps. I saw it.", "Il cane dorme. L'ho visto.") in found
    assert ("The dog sleeps because I saw it.", "Il cane dorme perché l'ho visto.") in found
    assert ("The dog sleeps, but I saw it.", "Il cane dorme, ma l'ho visto.") in found
    assert {len(side.split(".")) for pair in found if pair for side in pair} == {2, 3}


def test_e_before_e() -> None:
    pairs = [("The dog slept.", "Il cane dormiva."), ("They were old.", "Erano vecchi.")]
    found = {join(pairs, Random(seed)) for seed in range(100)}
    assert ("The dog slept and they were old.", "Il cane dormiva ed erano vecchi.") in found


def test_a_question_is_not_joined_by_a_conjunction() -> None:
    found = {join([SENTENCES[0], SENTENCES[3]], Random(seed)) for seed in range(50)}
    assert found == {("The dog sleeps. Is it true?", "Il cane dorme. È vero?")}


def test_what_does_not_end_is_not_joined() -> None:
    assert {join([SENTENCES[7], SENTENCES[0]], Random(seed)) for seed in range(50)} == {None}


def test_too_long_a_text_is_none() -> None:
    assert join([SENTENCES[6]] * 4, Random(1)) is None
