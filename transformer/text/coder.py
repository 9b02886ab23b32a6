"""The interface of coders, which convert sentences to ids and back, and the coder for whole words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from transformer.text.vocabulary import BOS_ID, EOS, EOS_ID, PAD_ID, UNK_ID, Vocabulary
from transformer.text.words import WordTokenizer

Unit = Literal["word", "sub-word", "token"]
"""Kind of a vocabulary's tokens; "token" if only their ids are known."""


@dataclass(frozen=True)
class EncodedSentence:
    """A sentence as a model reads it.

    Attributes:
        tokens: the words or sub-words.
        ids: one per token.
        unknown: for each token, True if the vocabulary lacks it.
        words: the words as typed.
        word_of: for each token, the index of its word.
    """

    tokens: list[str]
    ids: list[int]
    unknown: list[bool]
    words: list[str]
    word_of: list[int]


@dataclass(frozen=True)
class SpecialTokens:
    """The ids of a vocabulary's tokens that are not text; None for a missing token.

    Attributes:
        pad: fills up the shorter sentences of a batch.
        bos: begins a sentence.
        eos: ends a sentence.
        unk: replaces unknown tokens.
        mask: replaces a token for a masked language model to predict.
        suppressed: ids that must not be generated.
    """

    pad: int | None
    bos: int | None
    eos: int | None
    unk: int | None
    mask: int | None = None
    suppressed: tuple[int, ...] = ()

    @property
    def ids(self) -> frozenset[int]:
        """All special ids."""
        named = (self.pad, self.bos, self.eos, self.unk, self.mask)
        return frozenset({*self.suppressed, *(index for index in named if index is not None)})


class Coder(Protocol):
    """Converts sentences to ids and back, by words or sub-words, with Headlight's rules or a library's."""

    @property
    def unit(self) -> Unit:
        """Kind of its tokens."""

    @property
    def language(self) -> str | None:
        """Two- or three-letter code of its language; None if unknown."""

    @property
    def vocabulary(self) -> Sized:
        """The tokens with ids."""

    @property
    def special_tokens(self) -> SpecialTokens:
        """The ids of tokens that are not text."""

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Add the special ids that frame a source or a prompt.

        `LoadedModel.start_ids` are the ids that begin a decoder's input if there is a source.
        """

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """The same as `frame` for tokens."""

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without a frame.

        Raises:
            SentenceError: when another library's tokenizer fails on it; Headlight's never do.
        """

    def describe_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """The sentence with these ids, including special ones."""

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, without special ones."""

    def token(self, index: int) -> str:
        """The token with an id."""


class OwnTokens:
    """Base of the coders for Headlight's vocabularies: special tokens, language, <eos> after a source."""

    special_tokens = SpecialTokens(
        pad=PAD_ID, bos=BOS_ID, eos=EOS_ID, unk=UNK_ID, suppressed=(PAD_ID, BOS_ID)
    )

    def __init__(self, tokenizer: WordTokenizer) -> None:
        self.tokenizer = tokenizer

    @property
    def language(self) -> str:
        """Two- or three-letter code."""
        return self.tokenizer.language

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Append <eos>."""
        return (*ids, EOS_ID)

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Append <eos>."""
        return (*tokens, EOS)


class SentenceCoder(OwnTokens):
    """A coder for whole words."""

    unit: Unit = "word"

    def __init__(self, tokenizer: WordTokenizer, vocabulary: Vocabulary) -> None:
        super().__init__(tokenizer)
        self.vocabulary = vocabulary

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without <eos>; unknown words are flagged."""
        words = self.tokenizer.words(sentence)
        ids = self.vocabulary.encode(map(self.tokenizer.key, words))
        return replace(self.describe_ids(ids), tokens=words, words=words)

    def describe_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """The sentence with these ids."""
        words = list(map(self.vocabulary.word, ids))
        return EncodedSentence(
            tokens=words,
            ids=list(ids),
            unknown=[index == UNK_ID for index in ids],
            words=words,
            word_of=list(range(len(words))),
        )

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, without <pad>, <bos> and <eos> but with <unk>."""
        words = [self.vocabulary.word(index) for index in ids if index not in (PAD_ID, BOS_ID, EOS_ID)]
        return self.tokenizer.join(words)

    def token(self, index: int) -> str:
        """The word with an id."""
        return self.vocabulary.word(index)
