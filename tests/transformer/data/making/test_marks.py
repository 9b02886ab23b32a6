"""Signs that a pair did not have are the same on both sides, and nothing of the pair is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

import pytest

from transformer.data.making.joined import Pair
from transformer.data.making.marks import marked

PAIR = ("Anna saw the dog.", "Anna ha visto il cane.")
FOLLOWING = ("The cat sleeps.", "Il gatto dorme.")
DRAWN = [marked(PAIR, FOLLOWING, Random(seed)) for seed in range(2000)]
FOUND = [pair for pair in DRAWN if pair is not None]


def with_sign(pattern: str) -> Iterator[Pair]:
    """The pairs whose source matches."""
    return (pair for pair in FOUND if re.search(pattern, pair[0]))


def test_every_sign_stands_on_both_sides_as_often() -> None:
    for pair in FOUND:
        signs = [sorted(re.sub(r"[\w\s,.:?!'’]", "", side)) for side in pair]
        assert signs[0] == signs[1], pair


def test_nothing_is_lost_but_in_addresses_and_sums() -> None:
    kept = [pair for pair in FOUND if "saw" in pair[0]]
    assert 0.8 < len(kept) / len(FOUND) < 1
    for source, target in kept:
        assert {"Anna", "saw", "the", "dog"} <= set(re.findall(r"[A-Za-z]+", source)), source
        assert {"Anna", "ha", "visto", "il", "cane"} <= set(re.findall(r"[A-Za-z]+", target)), target


@pytest.mark.parametrize(
    "pair",
    [
        ("“Anna saw the dog.”", "“Anna ha visto il cane.”"),
        ("(Anna) saw the dog.", "(Anna) ha visto il cane."),
        ("Anna – my sister – saw the dog.", "Anna – mia sorella – ha visto il cane."),
        ("Anna saw the dog – the cat sleeps.", "Anna ha visto il cane – il gatto dorme."),
        ("Anna saw the dog (the cat sleeps).", "Anna ha visto il cane (il gatto dorme)."),
        ("Anna saw the dog (really).", "Anna ha visto il cane (davvero)."),
        ("• Anna saw the dog.", "• Anna ha visto il cane."),
        ("Anna saw the dog…", "Anna ha visto il cane…"),
    ],
)
def test_what_is_made(pair: Pair) -> None:
    assert pair in FOUND


def test_emoji_follow_and_speakers_are_named() -> None:
    emoji = [target for _, target in with_sign("[\U0001f600-\U0001f64f]")]
    assert emoji
    assert all(re.fullmatch(r"Anna ha visto il cane\.? ?[^\w\s.]+", target) for target in emoji)
    assert any("\ufe0f" in target for target in emoji), "that it is a picture"
    assert any(re.search("[\U0001f3fb-\U0001f3ff]", target) for target in emoji), "a tone of the skin"
    for source, target in with_sign(" said:? “"):
        name = source.split()[0]
        assert target == f"{name} ha detto: “Anna ha visto il cane.”"
    assert any(with_sign("” said"))


def test_addresses_and_sums_are_copied() -> None:
    addresses = [pair for pair in FOUND if "@" in pair[0] and "Anna" not in pair[0]]
    assert addresses
    for pair in addresses:
        one, other = (re.search(r"[^ ]+@[^ ]+", side) for side in pair)
        assert one
        assert other
        assert one[0] == other[0]
    assert any(source == target and "=" in source for source, target in FOUND)


def test_what_is_said_of_a_name_stands_inside_a_sentence() -> None:
    pair = ("In 1990 I met Anna.", "In quell'anno ho conosciuto Anna.")
    found = [made for seed in range(2000) if (made := marked(pair, FOLLOWING, Random(seed)))]
    assert ("In 1990 I met Anna (my sister).", "In quell'anno ho conosciuto Anna (mia sorella).") in found
    assert not any(re.search(r"[,–—-]\.", target) for _, target in found)
    assert not any(re.match(r"\WIn\W\W|In\W\W", target) for _, target in found), "In is no name"


def test_a_question_is_asked_and_never_joined() -> None:
    drawn = [marked(("Is it late?", "È tardi?"), FOLLOWING, Random(seed)) for seed in range(500)]
    found = [pair for pair in drawn if pair]
    assert any(" asked" in source and " ha chiesto" in target for source, target in found)
    assert not any(" said" in source for source, _ in found)
    assert not any("cat sleeps" in source for source, _ in found)
