"""Other names in the place of Tom, Mary and Boston, the same on both sides."""

from __future__ import annotations

from random import Random

import pytest

from transformer.data.making import tables
from transformer.data.making.names import draw_first_name, draw_person, spliced, with_foreign_letters
from transformer.data.making.renaming import replace_names
from transformer.data.tasks.toy_en_it.italian import Gender

GENDERS = {name.name: name.gender for name in tables.first_names()}


@pytest.mark.parametrize("name, gender", [("Tom", "m"), ("Mary", "f"), ("John", "m"), ("Maria", "f")])
def test_another_name_of_the_same_gender_on_both_sides(name: str, gender: Gender) -> None:
    """But for an invented one that happens to be a name."""
    genders = []
    for seed in range(100):
        pair = replace_names(f"{name} is here.", f"{name} è qui.", Random(seed))
        assert pair is not None
        other = pair[0].removesuffix(" is here.")
        assert pair[1] == f"{other} è qui."
        first = other.split()[0]
        genders.append(GENDERS.get(first))
    assert 50 < genders.count(gender) < 95, "most are of the table, some are invented"
    assert len([found for found in genders if found not in (gender, None)]) < 5


def test_two_people_get_two_names() -> None:
    for seed in range(100):
        pair = replace_names("Tom saw Mary and Tom.", "Tom ha visto Mary e Tom.", Random(seed))
        assert pair is not None
        seeing, seen = pair[0].removesuffix(".").split(" saw ")
        other, again = seen.split(" and ")
        assert seeing == again != other


def test_before_a_vowel_a_and_e_become_ad_and_ed() -> None:
    """And ad before what had a vowel before becomes a again."""
    found = set()
    for seed in range(300):
        pair = replace_names("I gave it to Tom.", "L'ho dato a Tom.", Random(seed))
        again = replace_names("And Mary.", "Ed Mary.", Random(seed))
        assert pair is not None
        assert again is not None
        name, other = pair[0][len("I gave it to ") : -1], again[0][len("And ") : -1]
        assert pair[1] == f"L'ho dato {'ad' if name.lower().startswith('a') else 'a'} {name}."
        assert again[1] == f"{'Ed' if other.lower().startswith('e') else 'E'} {other}."
        found |= {pair[1].split()[2], again[1].split()[0]}
    assert found == {"a", "ad", "E", "Ed"}


def test_a_city_has_its_italian_name() -> None:
    names = {city.english: city.italian for city in tables.cities()}
    for seed in range(50):
        pair = replace_names("Boston is big.", "Boston è grande.", Random(seed))
        assert pair is not None
        assert pair[1] == f"{names[pair[0].removesuffix(' is big.')]} è grande."


@pytest.mark.parametrize(
    "source, target",
    [
        ("He is here.", "È qui."),
        ("Tom Jackson is here.", "Tom Jackson è qui."),
        ("He is in South Boston.", "È a South Boston."),
        ("Tom is here.", "Lui è qui."),
        ("He is here.", "Tom è qui."),
        ("Tomatoes are red.", "I pomodori sono rossi."),
    ],
)
def test_what_stays_as_it_is(source: str, target: str) -> None:
    assert replace_names(source, target, Random(1)) is None


def test_a_wanted_gender_is_drawn() -> None:
    rng = Random(2)
    assert {draw_first_name(rng, "f").gender for _ in range(50)} == {"f"}
    assert {draw_person(rng).gender for _ in range(50)} == {"m", "f"}


@pytest.mark.parametrize("seed", range(20))
def test_a_spliced_word_has_a_beginning_and_an_end(seed: int) -> None:
    word = spliced("Abigail", "Johnson", Random(seed))
    assert word[:2] == "Ab"
    assert word[-2:] == "on"
    assert word.isalpha()


@pytest.mark.parametrize("seed", range(20))
def test_foreign_letters_keep_capitals_in_their_places(seed: int) -> None:
    word = with_foreign_letters("Ji-woo", Random(seed))
    changed = [(old, new) for old, new in zip("Ji-woo", word, strict=True) if old != new]
    assert len(changed) <= 2
    for old, new in changed:
        assert not new.isascii()
        assert (new.isalpha(), new.isupper()) == (True, old.isupper())
