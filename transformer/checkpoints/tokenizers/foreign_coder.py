"""Base class for the coders of other libraries' tokenizers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from transformer.checkpoints.tokenizers.words import words_of_pieces, words_of_text
from transformer.text.coder import EncodedSentence, SpecialTokens, Unit
from transformer.text.spelling import SURROGATES


class ForeignCoder(ABC):
    """Encodes and decodes sentences with the tokenizer that a model was trained with.

    Special tokens are also recognised in typed text, as in Hugging Face's library: "[MASK]" or "<mask>" asks
    a masked language model for a token, and "</s>" is the end.

    Args:
        ids: ids of all the tokenizer's tokens.
        unknown: the tokenizer's id for unknown text; None if it can encode all text.
        rows: number of rows of the model's embedding. Ids without a row become the unknown token and are
            flagged.
        special_tokens: special ids of the tokenizer and the model's configuration, each below `rows`.
        language: the language code, if known.
    """

    unit: Unit = "sub-word"
    _before: Sequence[int] = ()
    _after: Sequence[int] = ()

    def __init__(
        self,
        ids: Iterable[int],
        unknown: int | None,
        *,
        rows: int,
        special_tokens: SpecialTokens,
        language: str | None,
    ) -> None:
        self.vocabulary = range(max(ids, default=-1) + 1)  # rows needed for all ids
        self.special_tokens = special_tokens
        self.language = language
        self._unknown = unknown
        self._rows = rows

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without the special tokens that `frame` adds.

        Raises:
            SentenceError: when the library fails on the text.
        """
        text = SURROGATES.sub("\N{REPLACEMENT CHARACTER}", sentence)
        own, starts = self._cut(text)
        words, word_of = words_of_text(text, starts)
        ids = list(map(self._within, own))
        return EncodedSentence(
            tokens=list(map(self.token, ids)),
            ids=ids,
            unknown=[index >= self._rows or index == self._unknown for index in own],
            words=words,
            word_of=word_of,
        )

    def describe_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """Describe a sentence given as ids, token by token, including special tokens."""
        words, word_of = words_of_pieces(map(self._spell, ids))
        return EncodedSentence(
            tokens=list(map(self.token, ids)),
            ids=list(ids),
            unknown=[index == self._unknown for index in ids],
            words=words,
            word_of=word_of,
        )

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Add the tokenizer's special ids around a sentence."""
        return (*self._before, *ids, *self._after)

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Add the tokens of the ids that `frame` adds around a sentence's tokens."""
        return (*map(self.token, self._before), *tokens, *map(self.token, self._after))

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Convert ids to a sentence, without special tokens."""

    @abstractmethod
    def token(self, index: int) -> str:
        """The readable token of an id; # and the id if the tokenizer has none."""

    @abstractmethod
    def _cut(self, text: str) -> tuple[list[int], list[int]]:
        """The tokenizer's ids for a text, and where each token begins."""

    @abstractmethod
    def _spell(self, index: int) -> bytes:
        """The text of an id's token, including the space before it."""

    def _within(self, index: int) -> int:
        """The id, or the unknown token's if the model has no row for it."""
        if index < self._rows:
            return index
        return self._unknown if self._unknown is not None and self._unknown < self._rows else 0
