"""Which sentence pairs of a corpus are learnt from: what is left out is counted, and said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from transformer.corpus import TextPair

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffd]")
_MOJIBAKE = re.compile(r"[ÃÂÐÑ][\u0080-\u00bf]|â€|ï¿½")
"""UTF-8 that was once read as Latin-1 or Windows-1252: "Ã¨" for "è", "â€™" for "’"."""


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What makes a pair unfit to learn from.

    Attributes:
        min_words: leave out pairs with fewer words on a side (separated by white space).
        max_words: leave out pairs with more words on a side.
        max_ratio: leave out pairs of which one side has more than so many times the words of the other; one
            word against five or fewer is never too uneven.
        duplicates: learn from a pair each time that it comes.
        faults: learn from text with faults of its encoding too.
    """

    min_words: int = 1
    max_words: int = 150
    max_ratio: float = 4.0
    duplicates: bool = False
    faults: bool = False


@dataclass
class FilterReport:
    """What became of the pairs that were read.

    Attributes:
        seen: all of them.
        kept: those that are learnt from.
        left_out: how many, by reason.
        first: where the first was, by reason.
    """

    seen: int = 0
    kept: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def clear(self) -> None:
        """Begin to count anew."""
        self.seen = self.kept = 0
        self.left_out.clear()
        self.first.clear()

    def count(self, pair: TextPair, reason: str | None) -> None:
        """Take note of one pair: kept without a reason, else left out for it."""
        self.seen += 1
        if reason is None:
            self.kept += 1
            return
        self.left_out[reason] = self.left_out.get(reason, 0) + 1
        self.first.setdefault(reason, pair.place)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "seen": self.seen,
            "kept": self.kept,
            "left_out": dict(self.left_out),
            "first": dict(self.first),
        }

    def __str__(self) -> str:
        lines = [f"{self.seen:,} sentence pairs read, {self.kept:,} kept."]
        for reason, count in sorted(self.left_out.items(), key=lambda item: -item[1]):
            lines.append(f"{count:>9,} left out: {reason} (the first: {self.first[reason]})")
        return "\n".join(lines)


def filtered(pairs: Iterable[TextPair], filters: Filters, report: FilterReport) -> Iterator[tuple[str, str]]:
    """Yield source and target of the pairs to learn from, and count every pair in the report.

    Memory holds eight bytes and a set's overhead, some 70 bytes in all, for each different pair, unless
    duplicates are learnt from too.
    """
    known: set[bytes] = set()
    for pair in pairs:
        reason = _unfit(pair, filters)
        if reason is None and not filters.duplicates:
            digest = blake2b(f"{pair.source}\t{pair.target}".encode(errors="replace"), digest_size=8).digest()
            reason = "the same pair came before" if digest in known else None
            known.add(digest)
        report.count(pair, reason)
        if reason is None:
            yield pair.source, pair.target


def _unfit(pair: TextPair, filters: Filters) -> str | None:
    if pair.fault:
        return pair.fault
    for text in (pair.source, pair.target):
        if not filters.faults and (_CONTROLS.search(text) or _MOJIBAKE.search(text)):
            return "faulty encoding"
    shorter, longer = sorted(len(text.split()) for text in (pair.source, pair.target))
    if shorter < filters.min_words:
        return "a side is empty" if shorter == 0 else f"fewer than {filters.min_words} words"
    if longer > filters.max_words:
        return f"more than {filters.max_words} words"
    if longer > max(5, filters.max_ratio * shorter):
        return f"one side has more than {filters.max_ratio:g} times the words of the other"
    return None
