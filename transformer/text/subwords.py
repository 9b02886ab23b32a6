"""Sub-words: spaCy's words, split by byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909).

A piece that begins with MARK has a space before it in the sentence; any other piece is joined to the previous
one, so the pieces of a sentence spell the sentence. Characters without a piece are spelled as UTF-8 bytes
(<0x00> to <0xFF>), so nothing typed is unknown.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from transformer.errors import TextError
from transformer.text.coder import EncodedSentence, OwnTokens, Unit
from transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, SPECIALS
from transformer.text.words import WordTokenizer

MARK = "▁"
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
_FIXED = (*SPECIALS, *BYTES)
_FIRST_BYTE_ID = len(SPECIALS)
_UNLEARNED = re.compile("|".join(map(re.escape, (MARK, *_FIXED))))
"""No learned piece may contain these; typed as text, they are spelled in parts."""
_MOST_CACHED_WORDS = 100_000


class SubwordVocabulary:
    """Pieces with ids, and the merges that build pieces from characters.

    Args:
        pieces: pieces by id: special ones, the 256 bytes, then characters and longer pieces.
        merges: pairs of pieces to merge, earliest first.

    Raises:
        TextError: for pieces in another order, a repeated piece, or a merge of unknown pieces.
    """

    def __init__(self, pieces: Sequence[str], merges: Sequence[tuple[str, str]]) -> None:
        if tuple(pieces[: len(_FIXED)]) != _FIXED:
            raise TextError(f"A sub-word vocabulary begins with {' '.join(SPECIALS)} and the 256 bytes.")
        if MARK not in pieces:
            raise TextError(f"A sub-word vocabulary has a piece for the space before a word: add {MARK}.")
        self._pieces, self._merges = list(pieces), [(left, right) for left, right in merges]
        self._ids = {piece: index for index, piece in enumerate(self._pieces)}
        if len(self._ids) != len(self._pieces):
            raise TextError("A sub-word vocabulary lists each piece once: remove repeated pieces.")
        for left, right in self._merges:
            if not {left, right, left + right} <= self._ids.keys():
                raise TextError(f"The merge of {left!r} and {right!r} is not of pieces in the vocabulary.")
            if left + right in _FIXED:
                raise TextError(f"The merge of {left!r} and {right!r} would make typed text a special piece.")
        spelled = {piece: index for piece, index in self._ids.items() if piece not in SPECIALS}
        self._bpe = models.BPE(vocab=spelled, merges=self._merges, byte_fallback=True)
        self._cache: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, word: str, *, spaced: bool) -> list[int]:
        """Split a word into pieces; `spaced` if there is a space before it."""
        key = MARK + word if spaced else word
        ids = self._cache.get(key)
        if ids is None:
            ids = self._split(word, spaced=spaced)
            if len(self._cache) < _MOST_CACHED_WORDS:
                self._cache[key] = ids
        return list(ids)

    def _split(self, word: str, *, spaced: bool) -> list[int]:
        """Split a word; a typed MARK is spelled in bytes, because MARK in a piece means a space."""
        parts = word.split(MARK)
        parts[0] = MARK + parts[0] if spaced else parts[0]
        mark = [self.byte(value) for value in MARK.encode()]
        ids: list[int] = []
        for number, part in enumerate(parts):
            ids += mark if number else []
            ids += [token.id for token in self._bpe.tokenize(part)] if part else []
        return ids

    def word(self, index: int) -> str:
        """The piece with an id."""
        return self._pieces[index]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of pieces; invalid UTF-8 becomes U+FFFD, and special pieces are spelled out."""
        return b"".join(map(self.spell, ids)).decode(errors="replace").removeprefix(" ")

    def spell(self, index: int) -> bytes:
        """The UTF-8 bytes of a piece, with a space for MARK."""
        if 0 <= index - _FIRST_BYTE_ID < len(BYTES):
            return bytes([index - _FIRST_BYTE_ID])
        return self._pieces[index].replace(MARK, " ").encode()

    @cached_property
    def all_ids(self) -> frozenset[int]:
        """All ids."""
        return frozenset(range(len(self)))

    @cached_property
    def continuing_letters(self) -> frozenset[int]:
        """Ids of pieces that begin with a letter, a digit or a byte of one, and so would lengthen a word."""
        return frozenset(index for spelling, index in self._spelled if _is_letter(spelling))

    @cached_property
    def parts_of_letters(self) -> frozenset[int]:
        """Ids of the bytes of multi-byte letters."""
        return frozenset(map(self.byte, range(128, len(BYTES))))

    def byte(self, value: int) -> int:
        """The id of a byte."""
        return _FIRST_BYTE_ID + value

    def beginnings_of(self, text: bytes) -> set[int]:
        """Ids of all pieces that are prefixes of a non-empty text."""
        return {index for n in range(1, len(text) + 1) for index in self._by_spelling.get(text[:n], ())}

    def begins_others(self, beginning: str, word: str) -> bool:
        """True if a piece with this beginning also begins words other than `word`."""
        starts = (piece.removeprefix(MARK) for piece in self._pieces if piece.startswith(MARK + beginning))
        return any(not word.startswith(start) for start in starts)

    @cached_property
    def _spelled(self) -> list[tuple[bytes, int]]:
        return [(self.spell(index), index) for index in range(len(SPECIALS), len(self))]

    @cached_property
    def _by_spelling(self) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {}
        for spelling, index in self._spelled:
            found.setdefault(spelling, []).append(index)
        return found

    def to_lists(self) -> tuple[list[str], list[tuple[str, str]]]:
        """The pieces and merges, as passed to the class."""
        return list(self._pieces), list(self._merges)


def _is_letter(spelling: bytes) -> bool:
    """True if a piece begins with a letter, a digit, or a non-ASCII byte, which may be part of one."""
    first = spelling.decode(errors="ignore")[:1]
    return first.isalnum() if first else spelling[:1] >= b"\x80"


def learn_subwords(words: Iterable[tuple[str, bool]], *, size: int) -> SubwordVocabulary:
    """Learn pieces and merges from a corpus.

    Args:
        words: all words of the corpus, each with True if there is a space before it.
        size: maximum number of pieces, including special ones and bytes.

    Raises:
        TextError: when `size` leaves no room for learned pieces.
    """
    room = size - len(_FIXED)
    if room < 1:
        raise TextError(f"A sub-word vocabulary needs more than {len(_FIXED)} pieces, not {size}.")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(_FIXED),
        initial_alphabet=[MARK],
        limit_alphabet=room,
        min_frequency=2,
        show_progress=False,
    )
    marked = (MARK * spaced + word for word, spaced in words if not _UNLEARNED.search(word))
    tokenizer.train_from_iterator(_lines(marked), trainer)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return SubwordVocabulary([piece for piece, _ in pieces], [(left, right) for left, right in merges])


def _lines(words: Iterable[str]) -> Iterator[str]:
    """Join words into long lines, because one library call per word would be slow."""
    line: list[str] = []
    for word in words:
        line.append(word)
        if len(line) == 1000:
            yield " ".join(line)
            line = []
    yield " ".join(line)


class SubwordCoder(OwnTokens):
    """A coder for sub-words.

    `decode(encode(sentence).ids)` is the sentence as returned by `transformer.text.words.clean`, in lower
    case if the tokenizer is.
    """

    unit: Unit = "sub-word"

    def __init__(self, tokenizer: WordTokenizer, vocabulary: SubwordVocabulary) -> None:
        super().__init__(tokenizer)
        self.vocabulary = vocabulary

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without <eos>."""
        words = self.tokenizer.spaced_words(sentence)
        by_word = [
            self.vocabulary.encode(word.lower() if self.tokenizer.lowercase else word, spaced=spaced)
            for word, spaced in words
        ]
        ids = [index for pieces in by_word for index in pieces]
        return EncodedSentence(
            tokens=[self.token(index) for index in ids],
            ids=ids,
            unknown=[False] * len(ids),
            words=[word for word, _ in words],
            word_of=[number for number, pieces in enumerate(by_word) for _ in pieces],
        )

    def describe_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """The sentence with these ids, however the model split its words."""
        tokens = list(map(self.token, ids))
        starts = [place for place, token in enumerate(tokens) if not place or token.startswith(MARK)]
        words: list[str] = []
        word_of: list[int] = []
        for start, stop in pairwise([*starts, len(tokens)]):
            for word, n_pieces in self._words(ids[start:stop]):
                word_of += [len(words)] * n_pieces
                words.append(word)
        return EncodedSentence(tokens, list(ids), [False] * len(tokens), words, word_of)

    def _words(self, ids: Sequence[int]) -> list[tuple[str, int]]:
        """The words in a run of pieces without spaces, each with its number of pieces.

        A piece belongs to the word that it begins in; a word in which none begins is joined to the previous
        one.
        """
        text, spelled = self.vocabulary.decode(ids), list(map(self.vocabulary.spell, ids))
        words = self.tokenizer.words(text)
        space = spelled[0].startswith(b" ")
        if not words or b"".join(spelled)[space:] != "".join(words).encode():
            return [(text, len(ids))]  # for example, invalid UTF-8
        ends = list(accumulate(len(word.encode()) for word in words))
        places = accumulate(map(len, spelled[:-1]), initial=0)
        owners = [bisect_right(ends, max(0, place - space)) for place in places]
        firsts = sorted(set(owners))
        return [
            ("".join(words[first:following]), owners.count(first))
            for first, following in pairwise([*firsts, len(words)])
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, without <pad>, <bos> and <eos>."""
        return self.vocabulary.decode(index for index in ids if index not in (PAD_ID, BOS_ID, EOS_ID))

    def token(self, index: int) -> str:
        """The piece with an id."""
        return self.vocabulary.word(index)
