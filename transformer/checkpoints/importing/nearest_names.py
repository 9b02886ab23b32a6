"""Similar tensor names, and shapes as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_LONGEST_SEARCH = 4_000
"""Most names that one name is compared with."""


def nearest(name: str, others: Iterable[str], n: int = 2) -> tuple[str, ...]:
    """The names that share the most parts with this one, at least half of them, best first."""
    parts = _parts(name)
    scored = []
    for index, other in enumerate(others):
        if index >= _LONGEST_SEARCH:
            break
        theirs = _parts(other)
        shared = 2 * (parts & theirs).total() / (parts.total() + theirs.total() or 1)
        if shared >= 0.5:
            scored.append((-shared, other))
    return tuple(other for _, other in sorted(scored)[:n])


@lru_cache(maxsize=8192)
def _parts(name: str) -> Counter[str]:
    return Counter(re.split(r"[._]", name.lower()))


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as text: 512 × 2048."""
    return " × ".join(f"{n}" for n in shape) if shape else "a single number"
