"""What lies beside a Hugging Face tokenizer's vocabulary: its settings and its added and special tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tokenizers import AddedToken

from transformer.errors import CheckpointError

Texts = Mapping[str, str | bytes]
"""The small files of a folder: name -> content."""

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
"""What fairseq's models, RoBERTa and those after it, call their special tokens."""
MAX_TOKENS = 2_000_000
MAX_ADDED = 100_000
_NUMBER = re.compile(r"[0-9]{1,9}")
_FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "special")


@dataclass(frozen=True)
class TokenizerSettings:
    """The settings of a folder.

    Attributes:
        values: of tokenizer_config.json.
        named: special tokens with a role, such as "pad_token".
        extra: special tokens without one.
        added: tokens that are never cut, by id.
    """

    values: Mapping[str, Any]
    named: Mapping[str, AddedToken] = field(default_factory=dict)
    extra: tuple[AddedToken, ...] = ()
    added: Mapping[int, AddedToken] = field(default_factory=dict)

    def flag(self, name: str, default: bool) -> bool:
        """A setting that is true or false; the default where it is missing or null.

        Raises:
            CheckpointError: for anything else.
        """
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            raise CheckpointError(
                f"tokenizer_config.json says {name} {value!r:.80}: it must be true or false."
            )
        return default if value is None else value

    def text(self, name: str) -> str:
        """A setting that is text; empty where it is missing or anything else."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""


def read_settings(texts: Texts) -> TokenizerSettings:
    """Read tokenizer_config.json, special_tokens_map.json and added_tokens.json, as far as they are there.

    Raises:
        CheckpointError: for a file that is damaged or holds tokens that are none.
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


def json_object(texts: Texts, name: str) -> dict[str, Any]:
    """Read the JSON object in a file; an empty one where there is no such file.

    Raises:
        CheckpointError: when it holds anything else.
    """
    try:
        values = json.loads(texts.get(name, "{}"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{name} is no valid JSON ({error}): copy or save it again.") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"{name} holds no JSON object: copy or save it again.")
    return values


def as_added_token(value: object, *, special: bool = False) -> AddedToken:
    """Make a token of how a file writes it: its text, or an object with `content`.

    Raises:
        CheckpointError: for anything else.
    """
    if isinstance(value, str):
        value = {"content": value}
    if not isinstance(value, dict) or not isinstance(value.get("content"), str):
        raise CheckpointError(f"The tokenizer's files add {value!r:.80}, which is no token: save them again.")
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
            f"The tokenizer's files give a token the id {value!r:.80}, which is no whole number below "
            f"{MAX_TOKENS:,}: save them again."
        )
    return int(str(value))


def _extra_tokens(values: Mapping[str, Any], named: dict[str, AddedToken]) -> Iterator[AddedToken]:
    """The special tokens without a role; those with a role of the model's own go to `named`."""
    for name in ("additional_special_tokens", "extra_special_tokens"):
        tokens = values.get(name) or ()
        if isinstance(tokens, dict):
            named.update((role, as_added_token(token, special=True)) for role, token in tokens.items())
        elif isinstance(tokens, list):
            yield from (as_added_token(token, special=True) for token in tokens)
