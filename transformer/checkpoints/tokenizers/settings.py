"""The settings of a Hugging Face tokenizer, and its added and special tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tokenizers import AddedToken, Tokenizer, processors

from transformer.checkpoints.reading.raw import Texts, json_object
from transformer.errors import CheckpointError, shown

NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
FAIRSEQ_TOKENS = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "cls_token": "<s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "mask_token": "<mask>",
}
"""Special tokens of fairseq models, such as RoBERTa."""
MAX_TOKENS = 2_000_000
MAX_ADDED = 100_000
Token = TypeVar("Token", AddedToken, str)
_NUMBER = re.compile(r"[0-9]{1,9}")
_FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "special")


@dataclass(frozen=True)
class TokenizerSettings:
    """The settings of a folder's tokenizer.

    Attributes:
        values: the values in tokenizer_config.json.
        named: special tokens with a role, such as "pad_token".
        extra: special tokens without one.
        added: tokens that are never split, by id.
    """

    values: Mapping[str, Any]
    named: Mapping[str, AddedToken] = field(default_factory=dict)
    extra: tuple[AddedToken, ...] = ()
    added: Mapping[int, AddedToken] = field(default_factory=dict)

    def flag(self, name: str, default: bool) -> bool:
        """A boolean setting; the default if it is missing or null.

        Raises:
            CheckpointError: for anything else.
        """
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            raise CheckpointError(
                f"tokenizer_config.json says {name} {shown(value)}: it must be true or false."
            )
        return default if value is None else value

    def text(self, name: str) -> str:
        """A text setting; empty if it is missing or something else."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""


def read_settings(texts: Texts) -> TokenizerSettings:
    """Read tokenizer_config.json, special_tokens_map.json and added_tokens.json, as far as present.

    Raises:
        CheckpointError: for a damaged file or an invalid token.
    """
    values = json_object(texts, "tokenizer_config.json")
    added = dict(_by_id(values.get("added_tokens_decoder") or {}))
    if "added_tokens_decoder" not in values:
        values |= json_object(texts, "special_tokens_map.json")
    named = {
        name: as_added_token(value, special=True)
        for name, value in values.items()
        if name.endswith("_token") and isinstance(value, str | dict)
    }
    extra = tuple(_extra_tokens(values, named))
    if "added_tokens_decoder" not in values:
        special = {token.content for token in (*named.values(), *extra)}
        for content, index in json_object(texts, "added_tokens.json").items():
            added[_id(index)] = AddedToken(
                content, normalized=content not in special, special=content in special
            )
    by_content = {token.content: token for token in added.values()}
    named = {name: by_content.get(token.content, token) for name, token in named.items()}
    if len(added) + len(named) + len(extra) > MAX_ADDED:
        raise CheckpointError(f"The tokenizer adds more than {MAX_ADDED:,} tokens: copy its files again.")
    return TokenizerSettings(values, named, extra, added)


def as_added_token(value: object, *, special: bool = False) -> AddedToken:
    """Read a token given as text or as an object with `content`.

    Raises:
        CheckpointError: for anything else.
    """
    if isinstance(value, str):
        value = {"content": value}
    if not isinstance(value, dict) or not isinstance(value.get("content"), str):
        raise CheckpointError(
            f"The tokenizer's files add {shown(value)}, which is no token: save them again."
        )
    flags = {name: value[name] for name in _FLAGS if isinstance(value.get(name), bool)}
    return AddedToken(value["content"], **(flags | ({"special": True} if special else {})))


def _by_id(tokens: object) -> Iterator[tuple[int, AddedToken]]:
    if not isinstance(tokens, dict):
        raise CheckpointError("tokenizer_config.json's added_tokens_decoder is no object: save it again.")
    for index, token in tokens.items():
        yield _id(index), as_added_token(token)


def _id(value: object) -> int:
    if not _NUMBER.fullmatch(str(value)) or int(str(value)) >= MAX_TOKENS:
        raise CheckpointError(
            f"The tokenizer's files give a token the id {shown(value)}, which is no whole number below "
            f"{MAX_TOKENS:,}: save them again."
        )
    return int(str(value))


def _extra_tokens(values: Mapping[str, Any], named: dict[str, AddedToken]) -> Iterator[AddedToken]:
    """The special tokens without a role; those with a model-specific role are added to `named`."""
    for name in ("additional_special_tokens", "extra_special_tokens"):
        tokens = values.get(name) or ()
        if isinstance(tokens, dict):
            named.update((role, as_added_token(token, special=True)) for role, token in tokens.items())
        elif isinstance(tokens, list):
            yield from (as_added_token(token, special=True) for token in tokens)


def add_special_tokens(
    tokenizer: Tokenizer,
    settings: TokenizerSettings,
    defaults: Mapping[str, AddedToken | str],
    extra: Iterable[AddedToken] = (),
) -> dict[str, str]:
    """Add the special tokens and those that are never split; new ones get ids in this order.

    Args:
        tokenizer: the tokenizer to add them to.
        settings: the settings in the files.
        defaults: role -> token, unless the files give one.
        extra: further special tokens of this kind of tokenizer.

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
    special_tokens = [token for token in (*by_role(named), *settings.extra, *extra) if token.content]
    known = set(map(repr, existing.values()))
    never_cut = [token for _, token in sorted(settings.added.items(), key=lambda item: item[0])]
    tokenizer.add_tokens([token for token in never_cut if token.content and repr(token) not in known])
    present = {*existing, *(token.content for token in never_cut)}
    tokenizer.add_tokens([token for token in special_tokens if token.content not in present])
    tokenizer.add_special_tokens(special_tokens)
    return {name: token.content for name, token in named.items()}


def by_role(named: Mapping[str, Token]) -> list[Token]:
    """The tokens in the order of their ids: roles in NAMED first, then other roles."""
    first = [named[name] for name in NAMED if name in named]
    return first + [token for name, token in named.items() if name not in NAMED]


def _is_plain(token: AddedToken) -> bool:
    """True if the files give only the token's text."""
    return repr(token) == repr(AddedToken(token.content, special=True))


def frame_with(tokenizer: Tokenizer, before: Iterable[str], after: Iterable[str]) -> None:
    """Make the tokenizer add special tokens around a sentence; those without an id are left out."""
    ids = {token: tokenizer.token_to_id(token) for token in (*before, *after)}
    known = {token: index for token, index in ids.items() if index is not None}
    # Generated names, so that a token's text can't be mistaken for template syntax.
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


def frame_by_settings(tokenizer: Tokenizer, settings: TokenizerSettings, named: dict[str, str]) -> None:
    """Add bos and eos around a sentence if add_bos_token and add_eos_token are set."""
    sides = [
        [named[name]] if settings.flag(f"add_{name}", False) and name in named else []
        for name in ("bos_token", "eos_token")
    ]
    frame_with(tokenizer, *sides)
