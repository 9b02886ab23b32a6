"""Words and their ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transformer.errors import TextError

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
SPECIALS = (PAD, BOS, EOS, UNK)
PAD_ID, BOS_ID, EOS_ID, UNK_ID = range(4)


class Vocabulary:
    """Words and their ids; 0 to 3 are <pad>, <bos>, <eos> and <unk>.

    Args:
        words: the others, from id 4 on.

    Raises:
        TextError: for a word that comes twice or has a special one's name.
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
        """Whether it is an ordinary word with an id; the special ones, as typed text, are not."""
        return word in self._ids

    def encode(self, words: Iterable[str]) -> list[int]:
        """Look up their ids; <unk>'s for words that are not in it, the names of special ones among them."""
        return [self._ids.get(word, UNK_ID) for word in words]

    def word(self, index: int) -> str:
        """Name the word of an id."""
        return self._words[index]

    def to_list(self) -> list[str]:
        """List all words by id, the special ones first."""
        return list(self._words)

    @classmethod
    def from_list(cls, words: Sequence[str]) -> Vocabulary:
        """Make the vocabulary of a list that `to_list` gave."""
        if tuple(words[: len(SPECIALS)]) != SPECIALS:
            raise TextError(f"A vocabulary begins with {' '.join(SPECIALS)}.")
        return cls(words[len(SPECIALS) :])
