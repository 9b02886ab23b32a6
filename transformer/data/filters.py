"""Selects the sentence pairs of a corpus to learn from; the others are counted and reported."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from transformer.data.corpus import TextPair
from transformer.text.words import clean

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffd]")
_MOJIBAKE = re.compile(r"[ÃÂÐÑ][\u0080-\u00bf]|Ã[€‚ƒ„†‡ˆ‰Š‹ŒŽ•˜™š›œžŸ]|â€|ï¿½")
"""UTF-8 that was decoded as Latin-1 or Windows-1252: "Ã¨" for "è", "â€™" for "’"."""


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Pairs to leave out.

    Attributes:
        min_words: leave out pairs with fewer words (separated by white space) on a side.
        max_words: leave out pairs with more words on a side.
        max_characters: leave out pairs with more characters on a side.
        max_ratio: leave out pairs with more than this many times as many words on one side as on the other; a
            side of five words or fewer is never too long.
        duplicates: learn from a pair every time it occurs.
        faults: also learn from wrongly encoded text.
    """

    min_words: int = 1
    max_words: int = 150
    max_characters: int = 2000
    max_ratio: float = 4.0
    duplicates: bool = False
    faults: bool = False


@dataclass
class FilterReport:
    """Numbers of pairs read, kept and left out.

    Attributes:
        seen: number of pairs read.
        kept: number of pairs to learn from.
        left_out: number of pairs left out, by reason.
        first: place of the first pair left out, by reason.
    """

    seen: int = 0
    kept: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def clear(self) -> None:
        """Restart the counts."""
        self.seen = self.kept = 0
        self.left_out.clear()
        self.first.clear()

    def count(self, pair: TextPair, reason: str | None) -> None:
        """Count one pair: kept, or left out for a reason."""
        self.seen += 1
        if reason is None:
            self.kept += 1
            return
        self.left_out[reason] = self.left_out.get(reason, 0) + 1
        self.first.setdefault(reason, pair.place)

    def __str__(self) -> str:
        lines = [f"{self.seen:,} sentence pairs read, {self.kept:,} kept."]
        for reason, count in sorted(self.left_out.items(), key=lambda item: -item[1]):
            lines.append(f"{count:>9,} left out: {reason} (the first: {self.first[reason]})")
        return "\n".join(lines)


def filtered(pairs: Iterable[TextPair], filters: Filters, report: FilterReport) -> Iterator[tuple[str, str]]:
    """Yield source and target of the pairs to learn from, and count every pair in the report.

    Duplicates are recognised by a 64-bit hash, which takes 12 to 24 bytes of memory per distinct pair (36
    while the table grows). In a hundred million pairs, the probability that any new pair is taken for a
    duplicate is 1 in 3,700.
    """
    known = HashTable()
    for pair in pairs:
        reason = _unfit(pair, filters)
        if reason is None and not filters.duplicates and not known.add(_hash(pair)):
            reason = "the same pair came before"
        report.count(pair, reason)
        if reason is None:
            yield pair.source, pair.target


class HashTable:
    """A set of 64-bit hashes, using open addressing in an array: a fifth of the memory of a Python set.

    The lower bits of a hash are the slot where probing starts.
    """

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 << 10))  # 0 marks a free slot; their number is a power of 2
        self._used = 0

    def add(self, number: int) -> bool:
        """Add a hash; returns True if it is new."""
        if not self._put(number or 1):
            return False
        self._used += 1
        if 3 * self._used > 2 * len(self._slots):
            old = self._slots
            self._slots = array("Q", bytes(16 * len(old)))
            for known in filter(None, old):
                self._put(known)
        return True

    def _put(self, number: int) -> bool:
        slots, last = self._slots, len(self._slots) - 1
        at = number & last
        while found := slots[at]:
            if found == number:
                return False
            at = (at + 1) & last
        slots[at] = number
        return True


def _hash(pair: TextPair) -> int:
    text = f"{pair.source}\n{pair.target}".encode(errors="surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest())


def _unfit(pair: TextPair, filters: Filters) -> str | None:
    if pair.fault:
        return pair.fault
    for text in (pair.source, pair.target):
        if not filters.faults and (_CONTROLS.search(text) or _MOJIBAKE.search(text)):
            return "faulty encoding"
    if max(len(pair.source), len(pair.target)) > filters.max_characters:
        return f"more than {filters.max_characters} characters"
    shorter, longer = sorted(map(_n_words, (pair.source, pair.target)))
    if shorter == 0:
        return "a side is empty"
    if shorter < filters.min_words:
        return f"fewer than {filters.min_words} words"
    if longer > filters.max_words:
        return f"more than {filters.max_words} words"
    if longer > max(5, filters.max_ratio * shorter):
        return f"one side has more than {filters.max_ratio:g} times the words of the other"
    return None


def _n_words(text: str) -> int:
    """Number of words separated by white space, ignoring invisible characters."""
    return len((text if text.isprintable() else clean(text)).split())
