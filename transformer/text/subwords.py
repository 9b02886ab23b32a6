"""Sub-words: spaCy's words, cut into pieces by byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909).

A piece that begins with MARK has a space before it in the sentence; every other piece is glued to the one
before. So the pieces of a sentence, put together, are the sentence. What no piece spells is spelled by its
UTF-8 bytes (<0x00> to <0xFF>): nothing typed is unknown.
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
"""What no learned piece may be or hold: as typed text it is spelled in parts."""
_REMEMBERED_WORDS = 100_000


class SubwordVocabulary:
    """Pieces and their ids, and the merges by which a word falls into pieces.

    Args:
        pieces: by id: the special ones, the 256 bytes, then characters and longer pieces.
        merges: pairs of pieces that become one, the earliest first.

    Raises:
        TextError: for a list that begins otherwise, repeats a piece, or merges that lead out of it.
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
                raise TextError(f"The merge of {left!r} and {right!r} leads out of the vocabulary.")
            if left + right in _FIXED:
                raise TextError(f"The merge of {left!r} and {right!r} would make typed text a special piece.")
        spelled = {piece: index for piece, index in self._ids.items() if piece not in SPECIALS}
        self._bpe = models.BPE(vocab=spelled, merges=self._merges, byte_fallback=True)
        self._remembered: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, word: str, *, spaced: bool) -> list[int]:
        """Cut one word into pieces; `spaced` tells whether there is a space before it."""
        key = MARK + word if spaced else word
        ids = self._remembered.get(key)
        if ids is None:
            ids = self._cut(word, spaced=spaced)
            if len(self._remembered) < _REMEMBERED_WORDS:
                self._remembered[key] = ids
        return list(ids)

    def _cut(self, word: str, *, spaced: bool) -> list[int]:
        """A typed MARK is spelled by its bytes: it is not the space that a MARK in a piece stands for."""
        parts = word.split(MARK)
        parts[0] = MARK + parts[0] if spaced else parts[0]
        mark = [self.byte(value) for value in MARK.encode()]
        ids: list[int] = []
        for number, part in enumerate(parts):
            ids += mark if number else []
            ids += [token.id for token in self._bpe.tokenize(part)] if part else []
        return ids

    def word(self, index: int) -> str:
        """Name the piece of an id."""
        return self._pieces[index]

    def decode(self, ids: Iterable[int]) -> str:
        """Put pieces together; bytes that are no UTF-8 become U+FFFD, special pieces are spelled out."""
        return b"".join(map(self.spell, ids)).decode(errors="replace").removeprefix(" ")

    def spell(self, index: int) -> bytes:
        """Spell the piece of an id in UTF-8, with a space for its MARK."""
        if 0 <= index - _FIRST_BYTE_ID < len(BYTES):
            return bytes([index - _FIRST_BYTE_ID])
        return self._pieces[index].replace(MARK, " ").encode()

    @cached_property
    def all_ids(self) -> frozenset[int]:
        """Every id."""
        return frozenset(range(len(self)))

    @cached_property
    def continuing_letters(self) -> frozenset[int]:
        """The ids of pieces that begin with a letter, a digit or a byte of one: they make a word another."""
        return frozenset(index for spelling, index in self._spelled if _is_letter(spelling))

    @cached_property
    def parts_of_letters(self) -> frozenset[int]:
        """The ids of the bytes of which more than one make a letter."""
        return frozenset(map(self.byte, range(128, len(BYTES))))

    def byte(self, value: int) -> int:
        """The id of a byte."""
        return _FIRST_BYTE_ID + value

    def beginnings_of(self, text: bytes) -> set[int]:
        """The ids of all pieces that a text, which is not empty, begins with."""
        return {index for n in range(1, len(text) + 1) for index in self._by_spelling.get(text[:n], ())}

    def begins_others(self, beginning: str, word: str) -> bool:
        """Whether a piece that begins words begins like this, and is not itself what a word begins with."""
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
        """List the pieces by id, and the merges: what the class is made of again."""
        return list(self._pieces), list(self._merges)


def _is_letter(spelling: bytes) -> bool:
    """Whether a piece begins with a letter or a digit; a byte beyond ASCII may be a part of one."""
    first = spelling.decode(errors="ignore")[:1]
    return first.isalnum() if first else spelling[:1] >= b"\x80"


def learn_subwords(words: Iterable[tuple[str, bool]], *, size: int) -> SubwordVocabulary:
    """Find the pieces that a corpus is cut into.

    Args:
        words: every word of the corpus, and whether there is a space before it.
        size: pieces at most, the special ones and the bytes among them.

    Raises:
        TextError: for a size that leaves no room for pieces.
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
    """Join words to long lines: crossing into the library once a word is slow."""
    line: list[str] = []
    for word in words:
        line.append(word)
        if len(line) == 1000:
            yield " ".join(line)
            line = []
    yield " ".join(line)


class SubwordCoder(OwnTokens):
    """A word tokenizer and a sub-word vocabulary: sentences to ids and ids to sentences.

    `decode(encode(sentence).ids)` is the sentence as `transformer.text.words.clean` leaves it, in lower
    case if the tokenizer's setting says so.
    """

    unit: Unit = "sub-word"

    def __init__(self, tokenizer: WordTokenizer, vocabulary: SubwordVocabulary) -> None:
        super().__init__(tokenizer)
        self.vocabulary = vocabulary

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without <bos> or <eos>. Never raises."""
        words = self.tokenizer.spaced_words(sentence)
        cut = [
            self.vocabulary.encode(word.lower() if self.tokenizer.lowercase else word, spaced=spaced)
            for word, spaced in words
        ]
        ids = [index for pieces in cut for index in pieces]
        return EncodedSentence(
            tokens=[self.token(index) for index in ids],
            ids=ids,
            unknown=[False] * len(ids),
            words=[word for word, _ in words],
            word_of=[number for number, pieces in enumerate(cut) for _ in pieces],
        )

    def of_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """Describe the sentence of given ids, piece by piece, however a model cut its words."""
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
        """Find the words of pieces without a space between them, each with how many pieces it has.

        A piece belongs to the word that it begins in; a word that no piece begins in, to the one before it.
        """
        text, spelled = self.vocabulary.decode(ids), list(map(self.vocabulary.spell, ids))
        words = self.tokenizer.words(text)
        space = spelled[0].startswith(b" ")
        if not words or b"".join(spelled)[space:] != "".join(words).encode():
            return [(text, len(ids))]  # bytes that are no text, say
        ends = list(accumulate(len(word.encode()) for word in words))
        places = accumulate(map(len, spelled[:-1]), initial=0)
        owners = [bisect_right(ends, max(0, place - space)) for place in places]
        firsts = sorted(set(owners))
        return [
            ("".join(words[first:following]), owners.count(first))
            for first, following in pairwise([*firsts, len(words)])
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """Make the sentence of ids: <pad>, <bos> and <eos> are left out."""
        return self.vocabulary.decode(index for index in ids if index not in (PAD_ID, BOS_ID, EOS_ID))

    def token(self, index: int) -> str:
        """Name the piece of an id."""
        return self.vocabulary.word(index)
