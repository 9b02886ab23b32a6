"""The interface of coders, which turn sentences into ids and back, and the coder of whole words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from transformer.text.vocabulary import BOS_ID, EOS, EOS_ID, PAD_ID, UNK_ID, Vocabulary
from transformer.text.words import WordTokenizer

Unit = Literal["word", "sub-word", "token"]
"""What a vocabulary's tokens are called; "token" where only their ids are known."""


@dataclass(frozen=True)
class EncodedSentence:
    """A sentence as a model reads it.

    Attributes:
        tokens: words or sub-words.
        ids: one per token.
        unknown: for each token, True where the vocabulary lacks it.
        words: as typed.
        word_of: for each token, the index of its word.
    """

    tokens: list[str]
    ids: list[int]
    unknown: list[bool]
    words: list[str]
    word_of: list[int]


@dataclass(frozen=True)
class SpecialTokens:
    """The ids of a vocabulary that stand for no text; None for a token that it lacks.

    Attributes:
        pad: fills up the shorter sentences of a batch.
        bos: begins a sentence.
        eos: ends a sentence.
        unk: replaces what the vocabulary lacks.
        mask: hides a token that a masked language model is to predict.
        suppressed: ids that are never generated.
    """

    pad: int | None
    bos: int | None
    eos: int | None
    unk: int | None
    mask: int | None = None
    suppressed: tuple[int, ...] = ()

    @property
    def ids(self) -> frozenset[int]:
        """All of them."""
        named = (self.pad, self.bos, self.eos, self.unk, self.mask)
        return frozenset({*self.suppressed, *(index for index in named if index is not None)})


class Coder(Protocol):
    """Turns sentences into ids and back, by words or sub-words, with our rules or another library's."""

    @property
    def unit(self) -> Unit:
        """What its tokens are called."""

    @property
    def language(self) -> str | None:
        """Two- or three-letter code of its language; None if unknown."""

    @property
    def vocabulary(self) -> Sized:
        """The tokens with ids."""

    @property
    def special_tokens(self) -> SpecialTokens:
        """The ids that stand for no text."""

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Add the special ids that frame a source or a prompt.

        What a decoder's input begins with when there is a source is `LoadedModel.start_ids`.
        """

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """The same as `frame` for tokens."""

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without a frame.

        Raises:
            SentenceError: where another library's tokenizer fails on it; our own never do.
        """

    def describe_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """The sentence with these ids, special ones included."""

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; special ones are left out."""

    def token(self, index: int) -> str:
        """The token with an id."""


class OwnTokens:
    """What the coders of our own vocabularies share: special tokens, language, <eos> after a source."""

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
    """A coder by words."""

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
        """The text of ids: <pad>, <bos> and <eos> are left out, <unk> is shown."""
        words = [self.vocabulary.word(index) for index in ids if index not in (PAD_ID, BOS_ID, EOS_ID)]
        return self.tokenizer.join(words)

    def token(self, index: int) -> str:
        """The word with an id."""
        return self.vocabulary.word(index)
