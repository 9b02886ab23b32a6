"""Parameters of a test that are left to a slower run: members of a list, variants, or most pairs of lists.

pytest does not publish the type of `pytest.param(...)`, so these are lists of Any.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def full(*members: object) -> list[Any]:
    """Mark each of these as `full`."""
    return [pytest.param(member, marks=pytest.mark.full) for member in members]


def slow_variants(cases: Iterable[str]) -> list[Any]:
    """Mark as `slow` each case that varies an earlier one, as "llama, tied" varies "llama"."""
    return [pytest.param(case, marks=pytest.mark.slow if "," in case else ()) for case in cases]


def covering(pairs: Iterable[tuple[str, str]]) -> list[Any]:
    """Mark as `full` every pair whose two members are covered by other pairs.

    Pairs with two new members are chosen before those with one, so that few are needed.
    """
    rest, chosen, firsts, seconds = list(pairs), set(), set(), set()
    for n_new in (2, 1):
        for first, second in rest:
            if (first not in firsts) + (second not in seconds) >= n_new:
                chosen.add((first, second))
                firsts.add(first)
                seconds.add(second)
    return [pytest.param(*pair, marks=() if pair in chosen else pytest.mark.full) for pair in rest]
