"""Assigns the tokens of other libraries' tokenizers to the words of a sentence."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise

Span = tuple[int, int]
"""Start and end in a text, in characters."""

_RUN = re.compile(r"\S+")


def words_of_text(text: str, starts: Sequence[int]) -> tuple[list[str], list[int]]:
    """Find the words of a tokenized text.

    A token belongs to the word that it begins in, ignoring leading spaces. A word in which no token begins is
    joined to the previous one, so every word has a token.

    Args:
        text: the typed text.
        starts: each token's start in it; a token without a position of its own has the next one's.

    Returns:
        The words, and for each token the index of its word.
    """
    if not starts:
        return [], []
    spans = list(_word_spans(text)) or [(0, len(text))]
    begins = [begin for begin, _ in spans]
    seen = accumulate((_after_spaces(text, start) for start in starts), max)
    owners = [max(0, bisect_right(begins, place) - 1) for place in seen]
    firsts = sorted(set(owners))
    words = [
        text[begins[first if number else 0] : spans[following - 1][1]]
        for number, (first, following) in enumerate(pairwise([*firsts, len(spans)]))
    ]
    number_of = {first: number for number, first in enumerate(firsts)}
    return words, [number_of[owner] for owner in owners]


def words_of_pieces(pieces: Iterable[bytes]) -> tuple[list[str], list[int]]:
    """Find the words of a generated token sequence.

    Args:
        pieces: each token's text in UTF-8, including the space before it; bytes that can't be decoded stay
            separate pieces.

    Returns:
        The words, and for each token the index of its word.
    """
    spelled = list(pieces)
    text = b"".join(spelled).decode(errors="surrogateescape")
    characters = [
        place for place, character in enumerate(text) for _ in character.encode(errors="surrogateescape")
    ]
    starts = [
        characters[start] if start < len(characters) else len(text)
        for start in accumulate(map(len, spelled[:-1]), initial=0)
    ][: len(spelled)]
    words, word_of = words_of_text(text, starts)
    return [word.encode(errors="surrogateescape").decode(errors="replace") for word in words], word_of


def _word_spans(text: str) -> Iterator[Span]:
    """Runs of non-space characters; the punctuation at their ends is split off, mark by mark."""
    for run in _RUN.finditer(text):
        begin, end = run.span()
        while begin < end and _is_punctuation(text[begin]):
            begin += 1
        while end > begin and _is_punctuation(text[end - 1]):
            end -= 1
        yield from _marks(text, run.start(), begin)
        if begin < end:
            yield begin, end
        yield from _marks(text, end, run.end())


def _marks(text: str, begin: int, end: int) -> Iterator[Span]:
    """Spans of punctuation; repetitions of a mark are one span."""
    for _, same in groupby(text[begin:end]):
        length = len(list(same))
        yield begin, begin + length
        begin += length


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


def _after_spaces(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place
