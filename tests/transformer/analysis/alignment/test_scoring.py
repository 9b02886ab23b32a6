"""Scores computed by hand, and their intervals."""

from __future__ import annotations

import pytest

from transformer.analysis.alignment.scoring import (
    N_RESAMPLES,
    Gold,
    LinksError,
    difference,
    parse_gold,
    scores,
)


def sure(*links: tuple[int, int]) -> Gold:
    return Gold(frozenset(links), frozenset(links))


def test_och_and_ney_by_hand() -> None:
    """A = {00, 11, 21}, S = {00, 22}, P = S + {11}: 2 of 3, 1 of 2, 1 - (1 + 2) / (3 + 2)."""
    gold = parse_gold("0-0 2-2 1?1", 3, 3)
    assert gold == parse_gold("1p1 2-2 0-0", 3, 3)
    found = scores([{(0, 0), (1, 1), (2, 1)}], [gold])
    assert found.precision.value == pytest.approx(2 / 3)
    assert found.recall.value == pytest.approx(1 / 2)
    assert found.aer.value == pytest.approx(0.4)


def test_links_are_counted_over_all_pairs() -> None:
    """2 of 3 and 2 of 4 links are right: 1 - 2 * 2 / (3 + 4), not the mean of the pairs' rates."""
    gold = [sure((0, 0)), sure((0, 0), (1, 1), (2, 2))]
    found = scores([{(0, 0)}, {(0, 0), (1, 0)}], gold)
    assert found.precision.value == pytest.approx(2 / 3)
    assert found.recall.value == pytest.approx(2 / 4)
    assert found.aer.value == pytest.approx(1 - 4 / 7)
    assert found.aer.low == 0, "a resample of the first pair alone"
    assert found.aer.high == pytest.approx(1 - 2 / 5), "a resample of the second pair alone"


def test_the_difference_is_paired() -> None:
    """In every pair one alignment has one right link more, so no resample reverses them."""
    gold = [sure(*[(i, i) for i in range(n)]) for n in range(3, 23)]
    better = [set(one.sure) for one in gold]
    worse = [links - {(0, 0)} for links in better]
    found = difference(better, worse, gold, seed=3)
    assert found.aer.high < 0
    assert found.p == 1 / N_RESAMPLES
    assert difference(worse, better, gold, seed=3).aer.value == pytest.approx(-found.aer.value)
    same = difference(better, better, gold)
    assert (same.aer.value, same.aer.low, same.aer.high, same.p) == (0, 0, 0, 1)
    assert scores(better, gold, seed=1) == scores(better, gold, seed=1)


def test_nothing_found_and_nothing_to_find() -> None:
    assert scores([set()], [sure()]).aer.value == 0
    assert scores([set()], [sure((0, 0))]).aer.value == 1
    assert scores([{(0, 0)}], [sure()]).aer.value == 1


@pytest.mark.parametrize(
    "line, message",
    [("0-0 1:1", "'1:1' is no link"), ("0-3", "outside the pair, which has 2 and 3 words"), ("2-0", "2-0")],
)
def test_other_lines_are_refused(line: str, message: str) -> None:
    with pytest.raises(LinksError, match=message):
        parse_gold(line, 2, 3)
