"""A cross of two lists, thinned so that each member comes once; the other pairs are for make test-all."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet


def covering(pairs: Iterable[tuple[str, str]]) -> list[ParameterSet]:
    """Mark as `full` every pair whose two members other pairs have already.

    A pair with two new members is taken before one with a single new one, so that few are left.
    """
    rest, chosen, firsts, seconds = list(pairs), set(), set(), set()
    for n_new in (2, 1):
        for first, second in rest:
            if (first not in firsts) + (second not in seconds) >= n_new:
                chosen.add((first, second))
                firsts.add(first)
                seconds.add(second)
    return [pytest.param(*pair, marks=() if pair in chosen else pytest.mark.full) for pair in rest]
