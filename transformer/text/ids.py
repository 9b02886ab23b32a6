"""The coder for a model without a tokenizer: ids typed as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from transformer.text.coder import EncodedSentence, SpecialTokens, Unit

_NUMBER = re.compile(r"[0-9]{1,9}")
_BETWEEN = re.compile(r"[\s,;]+")


class IdCoder:
    """Reads and writes ids as text: "17 4 256" is three tokens.

    Args:
        rows: number of rows of the model's embedding. Anything but an id below it is flagged unknown and read
            as id 0.
        special_tokens: special ids of the model.
    """

    unit: Unit = "token"
    language: str | None = None

    def __init__(self, *, rows: int, special_tokens: SpecialTokens) -> None:
        self.special_tokens = special_tokens
        self.vocabulary = range(rows)

    def encode(self, sentence: str) -> EncodedSentence:
        """Read typed numbers, separated by spaces, commas or semicolons."""
        words = [word for word in _BETWEEN.split(sentence) if word]
        known = [bool(_NUMBER.fullmatch(word)) and int(word) < len(self.vocabulary) for word in words]
        return EncodedSentence(
            tokens=words,
            ids=[int(word) if is_id else 0 for word, is_id in zip(words, known, strict=True)],
            unknown=[not is_id for is_id in known],
            words=words,
            word_of=list(range(len(words))),
        )

    def describe_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """The sentence with these ids."""
        words = list(map(self.token, ids))
        return EncodedSentence(words, list(ids), [False] * len(words), words, list(range(len(words))))

    def decode(self, ids: Iterable[int]) -> str:
        """Write ids as numbers, without <pad>, <bos> and <eos>."""
        left_out = (self.special_tokens.pad, self.special_tokens.bos, self.special_tokens.eos)
        return " ".join(self.token(index) for index in ids if index not in left_out)

    def token(self, index: int) -> str:
        """Write an id as a number."""
        return str(index)

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Add nothing, since the frame that the model was trained with is unknown."""
        return tuple(ids)

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Add nothing."""
        return tuple(tokens)
