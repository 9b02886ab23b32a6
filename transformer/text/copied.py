"""Copies words such as names and numbers from a source to its translation."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Sequence
from itertools import takewhile

from transformer.text.subwords import SubwordVocabulary

_WORD = re.compile(r"\w+(?:-\w+)*")
_BEGUN, _BEGUN_DIGITS = 3, 2
"""Characters after which a word or number counts as begun, unless fewer are already distinctive.

Fewer could begin many other words.
"""
_NO_IDEA = 0.03
"""Highest token probability below which the model has no idea of the next word.

With label smoothing a token that the model is sure of gets 0.9; where it can't read a name, every token gets
less than 0.02.
"""
_GLUED = tuple(" '’\"“‘«„([{@#")
"""Characters after which a word has no space before it."""
_RECENT = 40
"""Number of recent tokens examined, more than any word has."""


def words_of(text: str) -> list[str]:
    """The runs of letters and digits in a text; hyphens join them, as in Ji-woo."""
    return _WORD.findall(text)


def looks_like_a_name(word: str) -> bool:
    """True for a word of at least two characters that begins with a capital, or a number in digits."""
    return len(word) > 1 and (word[0].isupper() or word.isdecimal())


class CopiedWords:
    """The words that a target copies from its source.

    A word counts as begun once no other word of the source begins the same way. From then on only pieces that
    continue it may follow, and after its end no further letter. If the model has no idea what follows, a
    missing word must begin. A letter without a piece is spelled in bytes, if the source has it.

    Attributes:
        words: the words to copy.

    Args:
        words: the words to copy.
        source: the typed text.
        vocabulary: the target vocabulary.
    """

    def __init__(self, words: Sequence[str], source: str, vocabulary: SubwordVocabulary) -> None:
        self.words, self._vocabulary = frozenset(words), vocabulary
        letters = [letter.encode() for letter in source if not letter.isascii()]
        self._parts: dict[bytes, set[int]] = {b"": set()}
        for letter in letters:
            for n, part in enumerate(letter):
                self._parts.setdefault(letter[:n], set()).add(vocabulary.byte(part))
        known = {*words, *words_of(source)}
        self._begun = {word.encode(): self._n_begun(word, known - {word}) for word in words}

    def _n_begun(self, word: str, others: Iterable[str]) -> int:
        """Number of bytes after which a word counts as begun; more than its length if it never does."""
        shared = max((_shared(word.encode(), other.encode()) for other in others), default=0)
        usual = min(self._usual(word), len(word[:-1].encode()))
        return max(usual, 1 + shared)

    def _usual(self, word: str) -> int:
        """Number of leading bytes of a word that begin hardly any other word."""
        if word.isdecimal():
            return _BEGUN_DIGITS
        rare = (n for n in range(1, _BEGUN) if not self._vocabulary.begins_others(word[:n], word))
        n_letters = next(rare, _BEGUN)
        # A first letter without a piece is spelled in bytes, the first of which begins no other word.
        is_spelled = n_letters == 1 and len(self._vocabulary.encode(word[0], spaced=False)) > 1
        return 1 if is_spelled else len(word[:n_letters].encode())

    def closed(self, target: Sequence[int], surest: float = 1.0) -> frozenset[int]:
        """The ids that may not follow a target because of a word that it has begun or lacks.

        Args:
            target: ids without start.
            surest: probability of the most probable next id, 0 to 1.
        """
        word, n_there = self._begun_in(target)
        if n_there < len(word):
            return self._vocabulary.all_ids - self._vocabulary.beginnings_of(word[n_there:])
        if missing := self._missing(target, surest, is_between_words=bool(word)):
            return self._vocabulary.all_ids - missing
        return self._vocabulary.continuing_letters if word else frozenset()

    def is_spelling(self, target: Sequence[int], surest: float = 1.0) -> bool:
        """True while a target has an unfinished word, or must begin one, as in `closed`."""
        word, n_there = self._begun_in(target)
        return n_there < len(word) or bool(self._missing(target, surest, is_between_words=bool(word)))

    def _missing(self, target: Sequence[int], surest: float, *, is_between_words: bool) -> set[int]:
        """The first pieces of missing words, or of the rest of a missing word that the target has begun.

        Empty unless the model has no idea what follows.
        """
        if surest >= _NO_IDEA:
            return set()
        spelled = b" " + b"".join(map(self._vocabulary.spell, target))
        text = spelled.decode(errors="replace")
        if text.endswith("\N{REPLACEMENT CHARACTER}"):  # inside a multi-byte letter
            return set()
        missing = self.words.difference(words_of(text))
        rests = {
            word[n:]
            for word in missing
            for n in range(1, len(word))
            if not is_between_words and _ends_with(spelled, word[:n].encode())
        }
        is_spaced = not target or not text.endswith(_GLUED)
        return {self._vocabulary.encode(rest, spaced=False)[0] for rest in rests} or {
            self._vocabulary.encode(word, spaced=is_spaced)[0] for word in missing
        }

    def _begun_in(self, target: Sequence[int]) -> tuple[bytes, int]:
        """The word that a target has begun, and the number of its bytes present; b"" and 0 if none."""
        recent = b" " + b"".join(map(self._vocabulary.spell, target[-_RECENT:]))
        for word, begun in self._begun.items():
            n_there = next((n for n in range(len(word), begun - 1, -1) if _ends_with(recent, word[:n])), 0)
            if n_there:
                return word, n_there
        return b"", 0

    def invented_letters(self, target: Sequence[int]) -> frozenset[int]:
        """The ids excluded because they would spell a letter that the source lacks."""
        parts = takewhile(self._vocabulary.parts_of_letters.__contains__, reversed(target))
        decoder = getincrementaldecoder("utf-8")("ignore")
        decoder.decode(b"".join(map(self._vocabulary.spell, reversed(list(parts)))))
        begun, _ = decoder.getstate()
        whole = self._vocabulary.all_ids if begun else self._vocabulary.parts_of_letters
        return whole - self._parts.get(begun, whole)


def _shared(one: bytes, other: bytes) -> int:
    """Length of the common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _ends_with(text: bytes, begun: bytes) -> bool:
    """True if a text ends with `begun`, and a word starts there."""
    if not text.endswith(begun):
        return False
    before = text[: -len(begun)].decode(errors="ignore")
    return not (before and _WORD.match(before[-1]))
