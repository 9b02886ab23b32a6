"""A tokenizer of the library `tokenizers`, with what its coder must know of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tokenizers import AddedToken, Tokenizer, processors

from transformer.checkpoints.tokenizers.settings import NAMED, TokenizerSettings

Spelling = Literal["bytes", "marks", "continuations"]
"""How tokens spell text: each character a byte (GPT-2), a mark for a space (sentencepiece), or words and the
pieces that go on with them (WordPiece)."""

ORDINARY = ("a", "A", "1", ".", "\N{CYRILLIC SMALL LETTER IE}", "你", "\N{ARABIC LETTER ALEF}")
"""A tokenizer that knows letters knows one of these: they show what it puts around a text."""


@dataclass(frozen=True)
class Built:
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


def add_special_tokens(
    tokenizer: Tokenizer,
    settings: TokenizerSettings,
    defaults: Mapping[str, AddedToken | str],
    extra: Iterable[AddedToken] = (),
) -> dict[str, str]:
    """Add the special and the never cut tokens, those that have no ids yet in the order that gives them.

    Args:
        tokenizer: gets them.
        settings: what the files say.
        defaults: role -> the token of this kind of tokenizer where they say nothing.
        extra: special tokens that this kind of tokenizer has besides.

    Returns:
        Role -> token.
    """
    named = {
        name: AddedToken(token, special=True) if isinstance(token, str) else token
        for name, token in defaults.items()
        if name not in settings.values or settings.values[name] is not None
    } | dict(settings.named)
    existing = {token.content: token for token in tokenizer.get_added_tokens_decoder().values()}
    named = {
        name: existing.get(token.content, token) if _is_plain(token) else token
        for name, token in named.items()
    }
    roles = [*(named[name] for name in NAMED if name in named)]
    roles += [token for name, token in named.items() if name not in NAMED]
    specials = [token for token in (*roles, *settings.extra, *extra) if token.content]
    known = set(map(repr, existing.values()))
    never_cut = [token for _, token in sorted(settings.added.items(), key=lambda item: item[0])]
    tokenizer.add_tokens([token for token in never_cut if token.content and repr(token) not in known])
    present = {*existing, *(token.content for token in never_cut)}
    tokenizer.add_tokens([token for token in specials if token.content not in present])
    tokenizer.add_special_tokens(specials)
    return {name: token.content for name, token in named.items()}


def _is_plain(token: AddedToken) -> bool:
    """Whether the files gave its text alone."""
    return repr(token) == repr(AddedToken(token.content, special=True))


def frame_with(tokenizer: Tokenizer, before: Iterable[str], after: Iterable[str]) -> None:
    """Have the tokenizer put special tokens around a sentence; those without an id are left out."""
    ids = {token: tokenizer.token_to_id(token) for token in (*before, *after)}
    known = {token: index for token, index in ids.items() if index is not None}
    # Without a name of its own, no token's text can be taken for the template's own signs.
    names = {token: f"t{number}" for number, token in enumerate(known)}
    tokenizer.post_processor = processors.TemplateProcessing(
        single=[
            *(names[token] for token in before if token in known),
            "$A",
            *(names[token] for token in after if token in known),
        ],
        pair=None,
        special_tokens=[
            {"id": names[token], "ids": [index], "tokens": [token]} for token, index in known.items()
        ],
    )
