"""Numbers, times, dates and prices: the same value in both languages, written as each writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.making.quantities import (
    QUANTITIES,
    Quantity,
    before_noun,
    grouped,
    number_word,
    numerale,
    ordinal_word,
    preposed,
)

ENGLISH_WORDS = {number_word(number): number for number in range(100)}
NUMERALI = {numerale(number): number for number in range(100)}


def drawn(kind: str, count: int = 400) -> Iterator[Quantity]:
    rng = Random(3)
    return islice(iter(lambda: QUANTITIES[kind](rng), None), count)


def pairs(kind: str, form: str = "", forma: str = "") -> set[tuple[str, str]]:
    return {(one.english[form], one.italian[forma]) for one in drawn(kind)}


def test_no_two_numbers_are_said_in_the_same_way() -> None:
    assert len(ENGLISH_WORDS) == len(NUMERALI) == 100


@pytest.mark.parametrize(
    "number, word, numeral",
    [
        (0, "zero", "zero"), (8, "eight", "otto"), (13, "thirteen", "tredici"),
        (20, "twenty", "venti"), (21, "twenty-one", "ventuno"), (23, "twenty-three", "ventitré"),
        (28, "twenty-eight", "ventotto"), (47, "forty-seven", "quarantasette"),
        (66, "sixty-six", "sessantasei"),
        (81, "eighty-one", "ottantuno"), (90, "ninety", "novanta"), (99, "ninety-nine", "novantanove"),
    ],
)  # fmt: skip
def test_numbers_in_words(number: int, word: str, numeral: str) -> None:
    assert (number_word(number), numerale(number)) == (word, numeral)


@given(st.integers(20, 99))
def test_numerals_are_made_of_tens_and_units(number: int) -> None:
    tens, unit = numerale(number - number % 10), numerale(number % 10)
    assert numerale(number)[:4] == tens[:4]
    assert number % 10 == 0 or numerale(number).replace("é", "e").endswith(unit)


@pytest.mark.parametrize("numeral, before", [("ventuno", "ventun"), ("uno", "uno"), ("ventidue", "ventidue")])
def test_numerals_before_a_noun(numeral: str, before: str) -> None:
    assert before_noun(numeral) == before


@pytest.mark.parametrize(
    "number, ordinal",
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (22, "22nd"),
    ],
)
def test_ordinals_in_digits(number: int, ordinal: str) -> None:
    assert ordinal_word(number) == ordinal


@pytest.mark.parametrize(
    "preposition, following, joined",
    [
        ("", "14 maggio", "il 14 maggio"), ("", "8 maggio", "l'8 maggio"),
        ("di", "11 maggio", "dell'11 maggio"),
        ("a", "1º maggio", "al 1º maggio"), ("in", "1987", "nel 1987"), ("in", "1100", "nel 1100"),
        ("", "80%", "l'80%"), ("", "otto per cento", "l'otto per cento"),
        ("di", "18 maggio", "del 18 maggio"),
    ],
)  # fmt: skip
def test_the_article_before_a_number(preposition: str, following: str, joined: str) -> None:
    assert preposed(preposition, following) == joined


@given(st.integers(0, 10**9))
def test_marks_between_thousands(number: int) -> None:
    assert grouped(number, ".") == grouped(number, ",").replace(",", ".")
    assert int(grouped(number, ".").replace(".", "")) == number


@pytest.mark.parametrize("kind", ["num", "small", "age"])
def test_the_same_number_on_both_sides(kind: str) -> None:
    for english, italian in pairs(kind):
        number = ENGLISH_WORDS.get(english) or int(english.replace(",", ""))
        same = NUMERALI.get(italian) or NUMERALI.get(f"{italian}o") or int(italian.replace(".", ""))
        assert number == same


def test_decimals_have_a_comma_in_italian() -> None:
    assert all(italian == english.replace(".", ",") for english, italian in pairs("decimal"))


CLOCK = {
    ("7:30", "7:30"), ("half past seven", "le sette e mezza"), ("quarter past one", "l'una e un quarto"),
    ("quarter to one", "l'una meno un quarto"), ("ten to twelve", "le dodici meno dieci"),
    ("five o'clock", "le cinque"), ("noon", "mezzogiorno"), ("midnight", "mezzanotte"),
}  # fmt: skip


def test_times_of_day() -> None:
    rng = Random(3)
    found = {(one.english[""], one.italian[""]) for one in (QUANTITIES["time"](rng) for _ in range(6000))}
    assert CLOCK - {("7:30", "7:30")} <= found
    assert ("7:30", "le 7:30") in found
    assert ("1:30", "l'1:30") in found
    assert ("5 p.m.", "le 5 del pomeriggio") in found


def test_times_with_their_prepositions() -> None:
    for one in drawn("time"):
        said, at, being = (one.italian[form] for form in ("", "alle", "sono"))
        assert one.english["at"] == f"at {one.english['']}"
        if said.startswith("le "):
            assert (at, being) == (f"al{said}", f"sono {said}")
        elif said.startswith("l'"):
            assert (at, being) == (f"al{said}", f"è {said}")
        else:
            assert (at, being) == (f"a {said}", f"è {said}")


MONTHS = dict(
    zip(
        "January February March April May June July August September October November December".split(),
        "gennaio febbraio marzo aprile maggio giugno "
        "luglio agosto settembre ottobre novembre dicembre".split(),
        strict=True,
    )
)


def test_dates_have_the_same_day_month_and_year() -> None:
    for one in drawn("date"):
        english, italian = one.english[""], one.italian[""]
        month = next(name for name in MONTHS if name in english)
        assert MONTHS[month] in italian
        numbers = sorted(map(int, re.findall(r"\d+", english)))
        assert numbers == sorted(map(int, re.findall(r"\d+", italian.replace("primo", "1"))))
        assert one.english["on"] == f"on {english}"
        elided = italian.startswith(("8 ", "11 "))
        assert one.italian["il"] == (f"l'{italian}" if elided else f"il {italian}")
        assert one.italian["di+il"] == (f"dell'{italian}" if elided else f"del {italian}")


SIGNS = {"$": "dollari", "€": "euro", "£": "sterline", "¥": "yen"}
NAMES = {"dollars": "dollari", "euros": "euro", "pounds": "sterline", "yen": "yen"}


def test_prices_have_the_same_amount_and_currency() -> None:
    for english, italian in pairs("price"):
        amount, currency = italian.rsplit(" ", 1)
        if english[0] in SIGNS:
            written, same = english[1:], SIGNS[english[0]]
        else:
            written, name = english.rsplit(" ", 1)
            same = NAMES[name]
        assert currency == same
        if written in ENGLISH_WORDS:
            assert NUMERALI[amount] == ENGLISH_WORDS[written]
        else:
            assert written == amount.translate(str.maketrans(".,", ",."))


def test_percentages() -> None:
    for one in drawn("percent"):
        english, italian = one.english[""], one.italian[""]
        if english.endswith(" percent"):
            word = english.removesuffix(" percent")
            assert NUMERALI[italian.removesuffix(" per cento")] == ENGLISH_WORDS[word]
        else:
            assert italian == english.replace(".", ",")


@pytest.mark.parametrize("kind", ["code", "year"])
def test_what_is_copied(kind: str) -> None:
    assert all(english == italian for english, italian in pairs(kind))


@pytest.mark.parametrize(
    "kind, known",
    [
        ("ordinal", {("second", "secondo"), ("tenth", "decimo"), ("twentieth", "ventesimo")}),
        ("weekday", {("Monday", "lunedì"), ("Sunday", "domenica")}),
        ("month", set(MONTHS.items())),
    ],
)
def test_what_has_a_name_of_its_own(kind: str, known: set[tuple[str, str]]) -> None:
    assert known <= pairs(kind)
