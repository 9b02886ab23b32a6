"""Marian's tokenizer as a coder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transformer.checkpoints.tokenizers.marian import MarianSide
from transformer.checkpoints.tokenizers.words import words_of_pieces, words_of_text
from transformer.text.coder import EncodedSentence, Specials, Unit
from transformer.text.ids import TokenIds
from transformer.text.spelling import MARK, SURROGATES, legible


class MarianCoder:
    """Sentences to ids and ids to sentences of one of Marian's languages.

    The special tokens are special as typed text too, as in Hugging Face's library. `decode` reads what the
    model writes.

    Args:
        side: the language's pieces and ids.
        rows: of the model's embedding. Ids that it has no row for become the unknown token's.
        specials: of the tokenizer and the model's configuration, each below `rows`.
        language: the code, if it is known.
    """

    unit: Unit = "sub-word"

    def __init__(self, side: MarianSide, *, rows: int, specials: Specials, language: str | None) -> None:
        self.specials = specials
        self.language = language
        self.vocabulary = TokenIds(side.ids.values())
        self._side = side
        self._rows = rows
        self._tokens = {index: token for token, index in side.ids.items()}
        self._unknown = side.ids[side.named["unk_token"]]
        self._end = [self._within(side.ids[side.named["eos_token"]])]

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without </s>. Never raises."""
        text = SURROGATES.sub("\N{REPLACEMENT CHARACTER}", sentence)
        cut = list(self._side.cut(text))
        words, word_of = words_of_text(text, [start for _, start in cut])
        own = [self._side.ids.get(piece, self._unknown) for piece, _ in cut]
        ids = list(map(self._within, own))
        return EncodedSentence(
            tokens=list(map(self.token, ids)),
            ids=ids,
            unknown=[index == self._unknown or index >= self._rows for index in own],
            words=words,
            word_of=word_of,
        )

    def of_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """Describe the sentence of given ids, token by token; special ones too are kept as they are."""
        words, word_of = words_of_pieces(map(self._spell, ids))
        return EncodedSentence(
            tokens=list(map(self.token, ids)),
            ids=list(ids),
            unknown=[index == self._unknown for index in ids],
            words=words,
            word_of=word_of,
        )

    def decode(self, ids: Iterable[int]) -> str:
        """Make the sentence of ids: the special ones are left out."""
        return self._side.join(
            self._tokens.get(index, "") for index in ids if index not in self._side.special
        )

    def token(self, index: int) -> str:
        """Name the piece of an id; # and the id where the vocabulary has none."""
        return legible(self._tokens.get(index, f"#{index}").encode())

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Put </s> behind the ids of a source."""
        return (*ids, *self._end)

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Put </s> behind the tokens of a source."""
        return (*tokens, *map(self.token, self._end))

    def _within(self, index: int) -> int:
        unknown = self._unknown if self._unknown < self._rows else 0
        return index if index < self._rows else unknown

    def _spell(self, index: int) -> bytes:
        piece = self._tokens.get(index)
        if piece is None or (index in self._side.special and index != self._unknown):
            return f" {self.token(index)} ".encode()
        return piece.replace(MARK, " ").encode()
