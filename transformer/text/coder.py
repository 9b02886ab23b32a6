"""Sentences to ids, and ids to sentences: what a model asks of any coder, and the coder of whole words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from transformer.text.vocabulary import BOS_ID, EOS, EOS_ID, PAD_ID, UNK_ID, Vocabulary
from transformer.text.words import WordTokenizer

Unit = Literal["word", "sub-word", "token"]
"""What the tokens of a vocabulary are, in words; "token" where nothing but their ids is known."""


@dataclass(frozen=True)
class EncodedSentence:
    """A sentence as a model reads it, token by token.

    Attributes:
        tokens: the words, or the sub-words where the vocabulary has those.
        ids: theirs.
        unknown: which of them the vocabulary does not have.
        words: as typed.
        word_of: for each token the index of its word.
    """

    tokens: list[str]
    ids: list[int]
    unknown: list[bool]
    words: list[str]
    word_of: list[int]


@dataclass(frozen=True)
class SpecialTokens:
    """The ids of a vocabulary that stand for no text.

    Attributes:
        pad: fills up the shorter sentences of a batch; None where there is no such token, as below.
        bos: begins a sentence.
        eos: ends it.
        unk: stands for what the vocabulary does not have.
        mask: stands for a token that the model is to find (masked language models).
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
    """Sentences to ids and ids to sentences.

    By whole words or by sub-words: ours (`transformer.text.subwords`) or another library's.
    """

    @property
    def unit(self) -> Unit:
        """What a token is."""

    @property
    def language(self) -> str | None:
        """Two- or three-letter code of the language it is for; None where that is not known."""

    @property
    def vocabulary(self) -> Sized:
        """The tokens that have ids."""

    @property
    def special_tokens(self) -> SpecialTokens:
        """The ids that stand for no text."""

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Put the special ids around a sentence's that a stack reads it with, as a source or as a prompt.

        What a decoder's input begins with when there is a source is not its coder's but its model's
        (`LoadedModel.start_ids`).
        """

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Put the tokens that `frame` adds around a sentence's, each in the place of its id."""

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without the special ones that `frame` adds.

        Raises:
            SentenceError: only where a tokenizer of others fails on it.
        """

    def of_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """Describe the sentence of given ids, token by token; special ones too are kept as they are."""

    def decode(self, ids: Iterable[int]) -> str:
        """Make the sentence of ids: the special ones that stand for no text are left out."""

    def token(self, index: int) -> str:
        """Name the token of an id."""


class OwnTokens:
    """What the coders of our own vocabularies share: the special tokens, and the language's rules.

    A source is read with <eos> at its end.
    """

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
        """Put <eos> after the ids of a source."""
        return (*ids, EOS_ID)

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Put <eos> after the tokens of a source."""
        return (*tokens, EOS)


class SentenceCoder(OwnTokens):
    """A tokenizer and a vocabulary of words: sentences to ids and ids to sentences."""

    unit: Unit = "word"

    def __init__(self, tokenizer: WordTokenizer, vocabulary: Vocabulary) -> None:
        super().__init__(tokenizer)
        self.vocabulary = vocabulary

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without <bos> or <eos>. Never raises: unknown words are flagged."""
        words = self.tokenizer.words(sentence)
        ids = self.vocabulary.encode(map(self.tokenizer.key, words))
        return replace(self.of_ids(ids), tokens=words, words=words)

    def of_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """Describe the sentence of given ids, word by word."""
        words = list(map(self.vocabulary.word, ids))
        return EncodedSentence(
            tokens=words,
            ids=list(ids),
            unknown=[index == UNK_ID for index in ids],
            words=words,
            word_of=list(range(len(words))),
        )

    def decode(self, ids: Iterable[int]) -> str:
        """Make the sentence of ids: <pad>, <bos> and <eos> are left out, <unk> is shown."""
        words = [self.vocabulary.word(index) for index in ids if index not in (PAD_ID, BOS_ID, EOS_ID)]
        return self.tokenizer.join(words)

    def token(self, index: int) -> str:
        """Name the word of an id."""
        return self.vocabulary.word(index)
