"""Tokenizers of the library `tokenizers`, and their coder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tokenizers import Tokenizer

from transformer.checkpoints.tokenizers.foreign_coder import ForeignCoder
from transformer.errors import SentenceError
from transformer.text.coder import SpecialTokens
from transformer.text.spelling import MARK, byte_of_character, legible

Spelling = Literal["bytes", "marks", "continuations"]
"""How tokens spell text: a character per byte (GPT-2), a mark for spaces (sentencepiece), or WordPiece."""

ORDINARY = ("a", "A", "1", ".", "\N{CYRILLIC SMALL LETTER IE}", "你", "\N{ARABIC LETTER ALEF}")
"""Texts that reveal the special tokens a tokenizer adds; any tokenizer with letters knows one of them."""


@dataclass(frozen=True)
class LibraryTokenizer:
    """A tokenizer that is ready for use.

    Attributes:
        tokenizer: the library's tokenizer, without truncation, padding or dropout.
        spelling: how its tokens spell text.
        named: role of a special token, such as "pad_token" -> the token.
        clean_up: whether decoding removes spaces before punctuation.
        continuing: prefix of tokens that continue a word.
        languages: source and target language codes as in the files, or empty.
    """

    tokenizer: Tokenizer
    spelling: Spelling
    named: Mapping[str, str]
    clean_up: bool
    continuing: str = "##"
    languages: tuple[str, str] = ("", "")

    @cached_property
    def ids(self) -> dict[str, int]:
        """Token -> id, including added tokens."""
        return self.tokenizer.get_vocab(with_added_tokens=True)


_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_CLEANED = (
    *((f" {mark}", mark) for mark in ".?!,"),
    (" ' ", "'"),
    *((f" {ending}", ending) for ending in ("n't", "'m", "'s", "'ve", "'re")),
)


class LibraryCoder(ForeignCoder):
    """The coder of a `LibraryTokenizer`; other arguments as in `ForeignCoder`."""

    def __init__(
        self, built: LibraryTokenizer, *, rows: int, special_tokens: SpecialTokens, language: str | None
    ) -> None:
        super().__init__(
            built.ids.values(),
            special_tokens.unk,
            rows=rows,
            special_tokens=special_tokens,
            language=language,
        )
        self._built = built
        self._tokenizer = built.tokenizer
        self._special_ids = {
            index for index, token in self._tokenizer.get_added_tokens_decoder().items() if token.special
        }
        self._before, self._after = self._find_frame()

    def decode(self, ids: Iterable[int]) -> str:
        """Convert ids to a sentence, without special tokens.

        Raises:
            SentenceError: when the library fails on the ids.
        """
        with _failing_in_words():
            text = self._tokenizer.decode(list(ids), skip_special_tokens=True)
        if self._built.clean_up:
            for spaced, closed in _CLEANED:
                text = text.replace(spaced, closed)
        return text

    def token(self, index: int) -> str:
        """The token of an id; # and the id if the tokenizer has none."""
        name = self._tokenizer.id_to_token(index)
        if name is None:
            return f"#{index}"
        if self._built.spelling == "bytes" and index not in self._special_ids:
            return legible(byte_of_character(name))
        return legible(name.encode())

    def _find_frame(self) -> tuple[list[int], list[int]]:
        """The ids that the tokenizer adds before and after a text."""
        bare = {text: self._tokenizer.encode(text, add_special_tokens=False).ids for text in ORDINARY}
        text = next((text for text, ids in bare.items() if ids), ORDINARY[0])  # some know only some alphabets
        n_bare = len(bare[text])
        encoding = self._tokenizer.encode(text, add_special_tokens=True)
        added = encoding.special_tokens_mask
        n_before = next((place for place, special in enumerate(added) if not special), len(added))
        ids = [self._within(index) for index in encoding.ids]
        return ids[:n_before], ids[n_before + n_bare :]

    def _cut(self, text: str) -> tuple[list[int], list[int]]:
        with _failing_in_words():
            encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return encoding.ids, [start for start, _ in encoding.offsets]

    def _spell(self, index: int) -> bytes:
        name = self._tokenizer.id_to_token(index)
        glued = index == self._unknown and self._built.spelling != "continuations"
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
    """Convert any library error to a SentenceError; its panics are not subclasses of Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise SentenceError(
            f"This model's tokenizer fails on this text ({error!s:.200}): type another one, or use another "
            "model."
        ) from error
