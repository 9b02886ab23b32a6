"""Names of tensors: wrappers' prefixes taken off, layers counted, the nearest of other names found."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

WRAPPERS = frozenset({"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
"""Modules that wrap another one and compute nothing: of DataParallel, torch.compile, FSDP, checkpointing."""

_NUMBER = "(0|[1-9][0-9]{0,4})"
_LONGEST_SEARCH = 4_000
"""Other names that a name is compared with at most."""


def unwrapped(name: str) -> str:
    """The name without the wrappers that computed nothing, wherever they stood."""
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def shared_prefixes(names: Iterable[str]) -> Iterator[str]:
    """Prefixes that names may be looked at without, the most careful first.

    First none; then those that all names have, one part after the other ("model.", "model.net."); then those
    of more than half of the names, for files that hold more than the model.
    """
    yield ""
    counts: Counter[str] = Counter()
    total = 0
    for name in names:
        total += 1
        parts = name.split(".")[:-1]
        counts.update(".".join(parts[:n]) + "." for n in range(1, min(len(parts), 4) + 1))
    by_length = sorted(counts, key=len)
    yield from (prefix for prefix in by_length if counts[prefix] == total)
    yield from (prefix for prefix in by_length if total / 2 < counts[prefix] < total)


class Patterns:
    """Finds which of some patterns a name fits; in a pattern each {} stands for a layer's number."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._plain: set[str] = set()
        self._numbered: dict[str, list[tuple[str, re.Pattern[str]]]] = defaultdict(list)
        for pattern in patterns:
            if "{}" in pattern:
                self._numbered[_shape(pattern)].append((pattern, _regex(pattern)))
            else:
                self._plain.add(pattern)

    def find(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """The pattern and the numbers in the places of its {}; None where the name fits none."""
        if name in self._plain:
            return name, ()
        for pattern, regex in self._numbered.get(_shape(name), ()):
            match = regex.fullmatch(name)
            if match:
                return pattern, match.groups()
        return None


def layer_count(names: Iterable[str], prefix: str) -> int:
    """One more than the highest layer's number behind a prefix such as "encoder.layers."; 0 for none."""
    regex = re.compile(re.escape(prefix) + _NUMBER + r"\.")
    found = (regex.match(name) for name in names)
    return max((int(match[1]) + 1 for match in found if match), default=0)


def _shape(name: str) -> str:
    """The name with every number, and every place of one, replaced by {}."""
    return re.sub(r"[0-9]+|{}", "{}", name)


@lru_cache(maxsize=4096)
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(_NUMBER.join(map(re.escape, pattern.split("{}"))))


def nearest(name: str, others: Iterable[str], n: int = 2) -> tuple[str, ...]:
    """The other names that share the most parts with a name, best first; none that shares under half."""
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
