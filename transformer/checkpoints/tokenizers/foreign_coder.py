"""What the coders of other libraries' tokenizers have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from transformer.checkpoints.tokenizers.words import words_of_pieces, words_of_text
from transformer.text.coder import EncodedSentence, SpecialTokens, Unit
from transformer.text.spelling import SURROGATES


class ForeignCoder(ABC):
    """Sentences to ids and ids to sentences by the tokenizer that a model was trained with.

    The special tokens that a tokenizer knows are special as typed text too, as in Hugging Face's library:
    with "[MASK]" or "<mask>" a user asks a masked language model for a token, and "</s>" is the end.

    Args:
        ids: of all the tokenizer's tokens.
        unknown: the id that the tokenizer gives to what it does not know; None if it knows everything.
        rows: of the model's embedding. Ids without a row become the unknown token, and are flagged.
        special_tokens: of the tokenizer and the model's configuration, each below `rows`.
        language: its code, if known.
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
        self.vocabulary = range(max(ids, default=-1) + 1)  # the rows that all its ids need
        self.special_tokens = special_tokens
        self.language = language
        self._unknown = unknown
        self._rows = rows

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without the special tokens that `frame` adds.

        Raises:
            SentenceError: for a text that the library fails on.
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
        """Describe the sentence of given ids, token by token; special ones too are kept as they are."""
        words, word_of = words_of_pieces(map(self._spell, ids))
        return EncodedSentence(
            tokens=list(map(self.token, ids)),
            ids=list(ids),
            unknown=[index == self._unknown for index in ids],
            words=words,
            word_of=word_of,
        )

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Put the special ids of the tokenizer's files around a sentence."""
        return (*self._before, *ids, *self._after)

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Put the tokens of the ids that `frame` adds around a sentence's."""
        return (*map(self.token, self._before), *tokens, *map(self.token, self._after))

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Make a sentence of ids, without the special ones."""

    @abstractmethod
    def token(self, index: int) -> str:
        """Name the token of an id readably; # and the id if the tokenizer has none."""

    @abstractmethod
    def _cut(self, text: str) -> tuple[list[int], list[int]]:
        """The tokenizer's ids of a text, and where each token begins in it."""

    @abstractmethod
    def _spell(self, index: int) -> bytes:
        """The text of an id's token, with the space before it."""

    def _within(self, index: int) -> int:
        """The id itself, or the unknown token's if the model has no row for it."""
        if index < self._rows:
            return index
        return self._unknown if self._unknown is not None and self._unknown < self._rows else 0
