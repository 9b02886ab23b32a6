"""The words in which two texts differ: named, and marked in both texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

import streamlit as st

from viz.figures.labels import visible
from viz.pages.shared.literal_text import escaped

WORD = re.compile(r"\w+|[^\w\s]")
_MOST_NAMED = 3
_Span = tuple[int, int]


def differences(before: str, now: str) -> str:
    """The words that differ, as Markdown: "“tired” → “wide”"; "" if there are none."""
    old, new = WORD.findall(before), WORD.findall(now)
    found = [_difference(" ".join(old[i:j]), " ".join(new[k:m])) for (i, j), (k, m) in _changes(old, new)]
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return ", ".join(found[:_MOST_NAMED]) + more


def marked(before: str, now: str) -> tuple[str, str]:
    """Both texts as Markdown; words without a counterpart in the other are bold, on a coloured ground."""
    old, new = list(WORD.finditer(before)), list(WORD.finditer(now))
    changes = _changes([one.group() for one in old], [one.group() for one in new])
    return (
        _with_marks(before, [_characters(old, words) for words, _ in changes]),
        _with_marks(now, [_characters(new, words) for _, words in changes]),
    )


def show_both(names: Sequence[str], texts: Sequence[str]) -> None:
    """Draw two texts next to each other, with the words marked in which they differ; our own names."""
    for column, name, text in zip(st.columns(2), names, marked(*texts), strict=True):
        with column, st.container(border=True, height="stretch"):
            st.markdown(f"**{name}**")
            st.markdown(text)


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[_Span, _Span]]:
    """The ranges of words that differ, in the old and in the new text; either may be empty."""
    codes = SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes()
    return [((i, j), (k, m)) for what, i, j, k, m in codes if what != "equal"]


def _characters(words: Sequence[re.Match[str]], span: _Span) -> _Span:
    start, end = span
    return (words[start].start(), words[end - 1].end()) if start < end else (0, 0)


def _with_marks(text: str, spans: Sequence[_Span]) -> str:
    if not text:
        return "(nothing)"
    pieces, done = [], 0
    for start, end in spans:
        if start < end:
            pieces += [_literal(text[done:start]), f":blue-background[**{_literal(text[start:end])}**]"]
            done = end
    # Isolated, so that a text like "1. a" begins no list.
    return f"\u2068{''.join(pieces)}{_literal(text[done:])}\u2069"


def _literal(piece: str) -> str:
    """Text within a line; a lone space would be made visible."""
    return escaped(piece) if piece.strip(" ") else piece


def _difference(old: str, new: str) -> str:
    if not old:
        return f"{_quoted(new)} added"
    return f"{_quoted(old)} → {_quoted(new)}" if new else f"{_quoted(old)} left out"


def _quoted(words: str) -> str:
    return f"“\u2068{escaped(visible(words))}\u2069”"
