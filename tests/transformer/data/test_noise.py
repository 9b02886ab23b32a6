from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.noise import add_typing_noise
from transformer.data.typed_words import MISSPELLED, SHORT, SOUNDS_ALIKE


def ways(sentence: str) -> set[str]:
    return {add_typing_noise(sentence, Random(seed)) for seed in range(2000)}


@pytest.mark.parametrize(
    "typed",
    [
        "I don't know if you are there, Tom",
        "i don't know if you are there, Tom.",
        "i don't know if you are there, tom",
        "I dont know if you are there, Tom.",
        "I don’t know if you are there, Tom.",
        "I don't know if you are there Tom.",
        "idk if u r there, Tom.",
    ],
)
def test_ways_of_a_sentence(typed: str) -> None:
    assert typed in ways("I don't know if you are there, Tom.")


def test_slips() -> None:
    """Two letters are swapped, one is dropped, one doubled, one replaced by a neighbouring key."""
    assert {"tehre", "thee", "theere", "thete"} <= ways("there")
    assert "teh" in ways("the")


def test_words_are_spelled_by_ear_and_stretched() -> None:
    assert {"fone", "phoneee"} <= ways("phone")


def test_spaces_before_marks_and_none_after() -> None:
    found = ways("Well, are you there?")
    assert {"Well ,are you there?", "Well,are you there?", "Well, are you there ?"} <= found


def test_a_sentence_in_capitals() -> None:
    assert "ARE YOU THERE?" in ways("Are you there?")


def test_common_misspellings_short_forms_and_missing_spaces() -> None:
    found = ways("See you before dark.")
    assert {"see ya b4 dark", "See you beforedark."} <= found
    assert {"tommorow", "tomorow", "tmrw"} <= ways("tomorrow")
    assert {"may be", "mayb"} & ways("maybe"), "two words of one"


@pytest.mark.parametrize("table", [SHORT, MISSPELLED, SOUNDS_ALIKE])
def test_no_word_is_misspelled_as_itself(table: dict[str, str]) -> None:
    assert [word for word, ways in table.items() if word in ways.split() or not ways] == []


def test_slips_are_not_in_names() -> None:
    assert all("tom" in typed.lower() and "anna" in typed.lower() for typed in ways("Tom sees Anna."))


def test_what_no_change_applies_to_stays() -> None:
    assert ways("") == {""}
    assert ways("...") <= {"...", "....", "....."}, "something is left of it"


@given(st.text(), st.integers(0, 1000))
def test_something_is_left(sentence: str, seed: int) -> None:
    worse = add_typing_noise(sentence, Random(seed))
    assert bool(worse.strip()) == bool(sentence.strip())
    assert worse == add_typing_noise(sentence, Random(seed)), "the same generator makes the same slips"
