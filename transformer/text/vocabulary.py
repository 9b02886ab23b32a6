"""A vocabulary of whole words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transformer.errors import TextError

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
SPECIALS = (PAD, BOS, EOS, UNK)
PAD_ID, BOS_ID, EOS_ID, UNK_ID = range(4)


class Vocabulary:
    """Words with ids; ids 0 to 3 are <pad>, <bos>, <eos> and <unk>.

    Args:
        words: the ordinary words, from id 4 on.

    Raises:
        TextError: for a repeated word, or a special token's name.
    """

    def __init__(self, words: Iterable[str]) -> None:
        ordinary = list(words)
        self._words = [*SPECIALS, *ordinary]
        self._ids = {word: index for index, word in enumerate(ordinary, start=len(SPECIALS))}
        if len(set(self._words)) != len(self._words):
            raise TextError(
                "A vocabulary lists each word once, and none of the special ones: remove repeated words."
            )

    def __len__(self) -> int:
        return len(self._words)

    def __contains__(self, word: str) -> bool:
        """True for an ordinary word with an id; typed text is never a special token."""
        return word in self._ids

    def encode(self, words: Iterable[str]) -> list[int]:
        """Look up ids; unknown words and names of special tokens get <unk>'s."""
        return [self._ids.get(word, UNK_ID) for word in words]

    def word(self, index: int) -> str:
        """The word with an id."""
        return self._words[index]

    def to_list(self) -> list[str]:
        """All words by id, special ones first."""
        return list(self._words)

    @classmethod
    def from_list(cls, words: Sequence[str]) -> Vocabulary:
        """The inverse of `to_list`."""
        if tuple(words[: len(SPECIALS)]) != SPECIALS:
            raise TextError(f"A vocabulary begins with {' '.join(SPECIALS)}.")
        return cls(words[len(SPECIALS) :])
