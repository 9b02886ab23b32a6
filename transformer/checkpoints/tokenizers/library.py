"""A tokenizer of the library `tokenizers`, and a coder of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tokenizers import Tokenizer

from transformer.checkpoints.tokenizers.words import words_of_pieces, words_of_text
from transformer.errors import SentenceError
from transformer.text.coder import EncodedSentence, Specials, Unit
from transformer.text.ids import TokenIds
from transformer.text.spelling import MARK, SURROGATES, byte_of_character, legible

Spelling = Literal["bytes", "marks", "continuations"]
"""How tokens spell text: each character a byte (GPT-2), a mark for a space (sentencepiece), or words and the
pieces that go on with them (WordPiece)."""

ORDINARY = ("a", "A", "1", ".", "\N{CYRILLIC SMALL LETTER IE}", "你", "\N{ARABIC LETTER ALEF}")
"""A tokenizer that knows letters knows one of these: they show what it puts around a text."""


@dataclass(frozen=True)
class LibraryTokenizer:
    """A tokenizer that is ready for text.

    Attributes:
        tokenizer: without truncation, padding or chance.
        spelling: of its tokens.
        named: role of a special token, such as "pad_token" -> the token.
        clean_up: whether decoded text loses the spaces before punctuation.
        continuing: what a token begins with that goes on with a word.
        languages: codes of what is read and what is written, as the files have them; empty where they don't.
    """

    tokenizer: Tokenizer
    spelling: Spelling
    named: Mapping[str, str]
    clean_up: bool
    continuing: str = "##"
    languages: tuple[str, str] = ("", "")

    @cached_property
    def ids(self) -> dict[str, int]:
        """Every token's id."""
        return self.tokenizer.get_vocab(with_added_tokens=True)


_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_CLEANED = (
    *((f" {mark}", mark) for mark in ".?!,"),
    (" ' ", "'"),
    *((f" {ending}", ending) for ending in ("n't", "'m", "'s", "'ve", "'re")),
)


class LibraryCoder:
    """Sentences to ids and ids to sentences by the tokenizer that a model was trained with.

    The special tokens that a tokenizer knows are special as typed text too, as in Hugging Face's library:
    with "[MASK]" or "<mask>" a person asks a masked language model for a token, and "</s>" is the end.

    Args:
        built: the tokenizer.
        rows: of the model's embedding. Ids that it has no row for become the unknown token's, flagged so.
        specials: of the tokenizer and the model's configuration, each below `rows`.
        language: the code of what is read or written, if it is known.
    """

    unit: Unit = "sub-word"

    def __init__(
        self, built: LibraryTokenizer, *, rows: int, specials: Specials, language: str | None
    ) -> None:
        self.specials = specials
        self.language = language
        self._built = built
        self._tokenizer = built.tokenizer
        self._rows = rows
        self._special_ids = {
            index for index, token in self._tokenizer.get_added_tokens_decoder().items() if token.special
        }
        self.vocabulary = TokenIds(built.ids.values())
        self._before, self._after = self._find_frame()

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without the special ones that `frame` adds.

        Raises:
            SentenceError: for a text that the library fails on.
        """
        text = SURROGATES.sub("\N{REPLACEMENT CHARACTER}", sentence)
        with _failing_in_words():
            encoding = self._tokenizer.encode(text, add_special_tokens=False)
        words, word_of = words_of_text(text, [start for start, _ in encoding.offsets])
        ids = [self._within(index) for index in encoding.ids]
        return EncodedSentence(
            tokens=list(map(self.token, ids)),
            ids=ids,
            unknown=[index >= self._rows or index == self.specials.unk for index in encoding.ids],
            words=words,
            word_of=word_of,
        )

    def of_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """Describe the sentence of given ids, token by token; special ones too are kept as they are."""
        words, word_of = words_of_pieces(map(self._spell, ids))
        return EncodedSentence(
            tokens=list(map(self.token, ids)),
            ids=list(ids),
            unknown=[index == self.specials.unk for index in ids],
            words=words,
            word_of=word_of,
        )

    def decode(self, ids: Iterable[int]) -> str:
        """Make the sentence of ids: the special ones are left out.

        Raises:
            SentenceError: for ids that the library fails on.
        """
        with _failing_in_words():
            text = self._tokenizer.decode(list(ids), skip_special_tokens=True)
        if self._built.clean_up:
            for spaced, closed in _CLEANED:
                text = text.replace(spaced, closed)
        return text

    def token(self, index: int) -> str:
        """Name the token of an id, as people can read it; # and the id where the tokenizer has none."""
        name = self._tokenizer.id_to_token(index)
        if name is None:
            return f"#{index}"
        if self._built.spelling == "bytes" and index not in self._special_ids:
            return legible(byte_of_character(name))
        return legible(name.encode())

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Put the special ids around a sentence's that the tokenizer's files ask for."""
        return (*self._before, *ids, *self._after)

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Put the tokens that `frame` adds around a sentence's, each in the place of its id."""
        return (*map(self.token, self._before), *tokens, *map(self.token, self._after))

    def _find_frame(self) -> tuple[list[int], list[int]]:
        """What the tokenizer puts in front of a text and behind it."""
        bare = {text: self._tokenizer.encode(text, add_special_tokens=False).ids for text in ORDINARY}
        text = next((text for text, ids in bare.items() if ids), ORDINARY[0])  # some know only some letters
        n_bare = len(bare[text])
        encoding = self._tokenizer.encode(text, add_special_tokens=True)
        added = encoding.special_tokens_mask
        n_before = next((place for place, special in enumerate(added) if not special), len(added))
        ids = [self._within(index) for index in encoding.ids]
        return ids[:n_before], ids[n_before + n_bare :]

    def _within(self, index: int) -> int:
        if index < self._rows:
            return index
        return 0 if self.specials.unk is None else self.specials.unk

    def _spell(self, index: int) -> bytes:
        """What the token of an id spells, with the space before it."""
        name = self._tokenizer.id_to_token(index)
        glued = index == self.specials.unk and self._built.spelling != "continuations"
        if name is None or (index in self._special_ids and not glued):
            return f" {self.token(index)} ".encode()
        if self._built.spelling == "bytes":
            return byte_of_character(name)
        if self._built.spelling == "continuations":
            bare = name.removeprefix(self._built.continuing)
            return (bare if bare != name else f" {name}").encode()
        if byte := _BYTE.fullmatch(name):
            return bytes.fromhex(byte[1])
        return name.replace(MARK, " ").encode()


@contextmanager
def _failing_in_words() -> Iterator[None]:
    """Make a sentence of what the library raises: its panics are no Exceptions, and nobody catches them."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise SentenceError(
            f"This model's tokenizer fails on this text ({error!s:.200}): type another one, or use another "
            "model."
        ) from error
