"""A coder of words whose special ids are others than our own models'."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from transformer.text.coder import EncodedSentence, SentenceCoder, SpecialTokens, Unit
from transformer.text.vocabulary import Vocabulary
from transformer.text.words import WordTokenizer

SHIFT = 5
"""Shift of the ids: <pad> is 5, <bos> 6, <eos> 7, <unk> 8, and the last two words are 3 and 4."""
PAD_ID, BOS_ID, EOS_ID, UNK_ID = range(SHIFT, SHIFT + 4)
MASK_ID, LANGUAGE_ID = SHIFT - 2, SHIFT - 1
MASK = "xxmaskxx"
LANGUAGE = "xxlanguagexx"


class RenumberedCoder:
    """A coder of words whose special ids are not 0 to 3, with its own frame.

    Args:
        words: without special tokens.
        before, after: ids that frame a sentence.
    """

    unit: Unit = "word"
    language = None

    def __init__(self, words: Iterable[str], before: Sequence[int] = (), after: Sequence[int] = ()) -> None:
        self.vocabulary = Vocabulary([*words, MASK, LANGUAGE])
        self._inner = SentenceCoder(WordTokenizer("en", lowercase=True), self.vocabulary)
        self._before, self._after = tuple(before), tuple(after)
        self.special_tokens = SpecialTokens(
            PAD_ID, BOS_ID, EOS_ID, UNK_ID, mask=MASK_ID, suppressed=(PAD_ID, BOS_ID)
        )

    def _ours(self, index: int) -> int:
        return (index + SHIFT) % len(self.vocabulary)

    def _theirs(self, index: int) -> int:
        return (index - SHIFT) % len(self.vocabulary)

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Add the ids of the frame around a sentence's ids."""
        return (*self._before, *ids, *self._after)

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Add the tokens of the frame around a sentence's tokens."""
        return (*map(self.token, self._before), *tokens, *map(self.token, self._after))

    def encode(self, sentence: str) -> EncodedSentence:
        encoded = self._inner.encode(sentence)
        return replace(encoded, ids=list(map(self._ours, encoded.ids)))

    def describe_ids(self, ids: Sequence[int]) -> EncodedSentence:
        return replace(self._inner.describe_ids(list(map(self._theirs, ids))), ids=list(ids))

    def decode(self, ids: Iterable[int]) -> str:
        return self._inner.decode(map(self._theirs, ids))

    def token(self, index: int) -> str:
        return self._inner.token(self._theirs(index))
