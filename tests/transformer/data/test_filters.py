"""Whatever is left out is counted with its reason; nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.corpus import NO_TAB, TextPair
from transformer.data.filters import FilterReport, Filters, HashTable, filtered


def run(
    pairs: Sequence[tuple[str, str]], filters: Filters | None = None
) -> tuple[list[tuple[str, str]], FilterReport]:
    report = FilterReport()
    numbered = [TextPair(*pair, place=f"file:{n}") for n, pair in enumerate(pairs, start=1)]
    return list(filtered(numbered, filters or Filters(), report)), report


@pytest.mark.parametrize(
    "pair, reason",
    [
        (("", "vuoto"), "a side is empty"),
        (("empty", " "), "a side is empty"),
        (("word " * 151, "parola " * 150), "more than 150 words"),
        (("one two three four five six", "uno"), "one side has more than 4 times the words of the other"),
        (("caf\ufffd", "caffè"), "faulty encoding"),
        (("coffee", "caffÃ¨"), "faulty encoding"),
        (("don’t", "donâ€™t"), "faulty encoding"),
        (("a\x00b", "ab"), "faulty encoding"),
        (("a\x85b", "ab"), "faulty encoding"),
        (("a\ud800b", "ab"), "faulty encoding"),
    ],
)
def test_unfit_pairs(pair: tuple[str, str], reason: str) -> None:
    kept, report = run([("I see.", "Vedo."), pair])
    assert kept == [("I see.", "Vedo.")]
    assert asdict(report) == {"seen": 2, "kept": 1, "left_out": {reason: 1}, "first": {reason: "file:2"}}
    assert f"1 left out: {reason} (the first: file:2)" in str(report)


@pytest.mark.parametrize(
    "pair",
    [
        ("Go.", "Puoi andartene via subito."),
        ("São Paulo", "NÃO é in Italia, Ângela"),
        ("word " * 150, "parola " * 150),
        ("It's 20 °C.", "Ci sono 20 °C."),
        ("Tom", "Tom"),
    ],
)
def test_fit_pairs(pair: tuple[str, str]) -> None:
    assert run([pair])[0] == [pair]


def test_duplicates() -> None:
    """Pairs are compared: a source may have several translations. The first of equal pairs is kept."""
    pairs = [("hi", "ciao"), ("hi", "salve"), ("hi", "ciao"), ("hi", "ciao")]
    kept, report = run(pairs)
    assert kept == pairs[:2]
    assert report.left_out == {"the same pair came before": 2}
    assert report.first == {"the same pair came before": "file:3"}
    assert run(pairs, Filters(duplicates=True))[0] == pairs


def test_faults_of_lines_are_counted() -> None:
    report = FilterReport()
    pairs = [TextPair("alone", "", "file:1", NO_TAB), TextPair("one", "uno", "file:2")]
    assert list(filtered(pairs, Filters(), report)) == [("one", "uno")]
    assert report.left_out == {"no tab": 1}


def test_settings() -> None:
    pairs = [("a", "b"), ("a b", "c d"), ("a b c", "d e f"), ("caffÃ¨", "x")]
    assert run(pairs, Filters(min_words=2))[0] == pairs[1:3]
    assert run(pairs, Filters(max_words=2))[0] == pairs[:2]
    assert run(pairs, Filters(faults=True))[0] == pairs
    assert run([("a b c d e f", "g h i")], Filters(max_ratio=1.9))[0] == []


def test_a_side_of_five_words_or_fewer_is_never_too_long() -> None:
    pairs = [("a b c d e", "f"), ("a b", "c d e f g"), ("a b c d e f", "g h")]
    assert run(pairs, Filters(max_ratio=1.0))[0] == pairs[:2]


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9))))
def test_every_pair_is_kept_or_counted(pairs: list[tuple[str, str]]) -> None:
    kept, report = run(pairs)
    assert report.seen == len(pairs)
    assert report.kept == len(kept)
    assert report.kept + sum(report.left_out.values()) == report.seen
    assert report.left_out.keys() == report.first.keys()


def test_a_report_can_be_cleared() -> None:
    _, report = run([("", "")])
    report.clear()
    assert report == FilterReport()


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 20)))
def test_a_hash_table_is_a_set(numbers: list[int]) -> None:
    """Except that 0 counts as 1."""
    table, known = HashTable(), set[int]()
    for number in numbers:
        assert table.add(number) == (max(number, 1) not in known)
        known.add(max(number, 1))


def test_a_hash_table_grows() -> None:
    table = HashTable()
    numbers = [number * 1024 + 7 for number in range(3_000)]  # all start at one of few slots
    assert all(map(table.add, numbers))
    assert not any(map(table.add, numbers))
