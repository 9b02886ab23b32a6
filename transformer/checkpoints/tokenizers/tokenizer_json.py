"""Tokenizers from tokenizer.json, the format of Hugging Face's library `tokenizers`.

The file is used unchanged, whereas version 5 of Hugging Face's library rebuilds some families' tokenizers
from its vocabulary alone. Its steps are checked first: since they run in sequence, forty steps that each
lengthen the text a little would exhaust memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tokenizers import Tokenizer, models

from transformer.checkpoints.reading.raw import Texts, json_object
from transformer.checkpoints.tokenizers.library import LibraryTokenizer, Spelling
from transformer.checkpoints.tokenizers.settings import (
    MAX_ADDED,
    MAX_TOKENS,
    TokenizerSettings,
    add_special_tokens,
    frame_by_settings,
)
from transformer.checkpoints.tokenizers.vocabulary_files import file_text
from transformer.errors import CheckpointError, shown

MODELS = ("BPE", "Unigram", "WordLevel", "WordPiece")
"""The supported kinds of model."""
_STAGES = ("normalizer", "pre_tokenizer", "decoder", "post_processor")
_MOST_STEPS = 64
_LONGEST_PATTERN = 2_000
_CHARACTER = (
    r"(?:[^\\^$.|?*+()\[\]{}]"  # itself
    r"|\."  # any
    r"|\\[sSdDwWnrtfv]|\\[pP]\{\^?\w+\}|\\[\\^$.|?*+()\[\]{}/-]"  # a character class, or an escaped character
    r"|\[\^?(?:[^\\\[\]]|\\.)+\])"  # a bracket expression
)
_TIMES = r"(?:\+|\{[1-9][0-9]{0,2}(?:,[0-9]{0,3})?\})?"  # at least once
_WORD = f"(?:{_CHARACTER}{_TIMES})+"
_TAKES_CHARACTERS = re.compile(rf"{_WORD}(?:\|{_WORD})*")
"""Regular expressions that never match the empty string, where a replacement would be an insertion."""


def build_from_json(texts: Texts, settings: TokenizerSettings) -> LibraryTokenizer:
    """Build the tokenizer from tokenizer.json.

    Raises:
        CheckpointError: for a file that the library can't read, or whose steps would make text grow.
    """
    plain = json_object(texts, "tokenizer.json")
    _check(plain)
    try:
        tokenizer = Tokenizer.from_str(file_text(texts, "tokenizer.json"))
    except Exception as error:  # the library raises no specific class
        raise CheckpointError(
            f"tokenizer.json can't be read ({error}): copy it again, or save it with a newer version."
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    named = add_special_tokens(tokenizer, settings, {})
    if tokenizer.post_processor is None:
        frame_by_settings(tokenizer, settings, named)
    spelling = _spelling(plain)
    cleans = settings.flag("clean_up_tokenization_spaces", False) and not isinstance(
        tokenizer.model, models.BPE
    )
    prefix = plain["model"].get("continuing_subword_prefix")
    return LibraryTokenizer(tokenizer, spelling, named, cleans, prefix if isinstance(prefix, str) else "##")


def _check(plain: dict[str, Any]) -> None:
    model = plain.get("model")
    if not isinstance(model, dict) or model.get("type", "BPE") not in MODELS:
        raise CheckpointError(
            f"tokenizer.json has no model that is read ({', '.join(MODELS)} are): save it again."
        )
    if model.get("dropout"):
        raise CheckpointError(
            "tokenizer.json cuts words by chance (its dropout), so the same text would give other tokens "
            "each time: set dropout to null in it."
        )
    sizes = [len(part) for part in (model.get("vocab"), model.get("merges")) if isinstance(part, list | dict)]
    added = plain.get("added_tokens") or []
    if max(sizes, default=0) > MAX_TOKENS or len(added) > MAX_ADDED:
        raise CheckpointError(f"tokenizer.json has more than {MAX_TOKENS:,} tokens: it is no tokenizer's.")
    _check_unknown(model)
    check_steps(plain)


def _check_unknown(model: dict[str, Any]) -> None:
    """Refuse a model without an unknown token: the library would fail at the first unknown text."""
    vocabulary, unknown = model.get("vocab"), model.get("unk_token")
    if isinstance(vocabulary, list) and model.get("unk_id") is None:  # Unigram, even with byte tokens
        raise CheckpointError(
            "tokenizer.json doesn't say which token is for unknown characters (unk_id): take it from "
            "where the model came from."
        )
    if "merges" in model:  # BPE may have all bytes instead
        return
    if isinstance(vocabulary, dict) and isinstance(unknown, str) and unknown not in vocabulary:
        raise CheckpointError(
            f"tokenizer.json names {shown(unknown)} as the token for unknown words, but its vocabulary lacks "
            "it: take it from where the model came from."
        )


def _spelling(plain: dict[str, Any]) -> Spelling:
    kinds = {step.get("type") for step in steps_of(plain, "pre_tokenizer", "decoder")}
    if "ByteLevel" in kinds:
        return "bytes"
    return "continuations" if plain["model"].get("type") in ("WordPiece", "WordLevel") else "marks"


def steps_of(plain: Mapping[str, Any], *stages: str) -> Iterator[dict[str, Any]]:
    """The steps of the named stages (by default all), including nested ones."""
    waiting = [plain.get(stage) for stage in stages or _STAGES]
    while waiting:
        step = waiting.pop()
        if isinstance(step, list):
            waiting += step
        elif isinstance(step, dict):
            yield step
            waiting += [step.get(name) for name in ("normalizers", "pretokenizers", "decoders", "processors")]


def patterns_of(plain: Mapping[str, Any]) -> Iterator[str]:
    """The search patterns of the steps."""
    for step in steps_of(plain):
        pattern = step.get("pattern")
        if isinstance(pattern, dict):
            yield from (text for text in pattern.values() if isinstance(text, str))


def check_steps(plain: Mapping[str, Any]) -> None:
    """Refuse steps that make text grow.

    Raises:
        CheckpointError: names the step.
    """
    steps = list(steps_of(plain))
    if len(steps) > _MOST_STEPS:
        raise CheckpointError(f"tokenizer.json works in more than {_MOST_STEPS} steps: it is no model's.")
    if max((len(text) for text in patterns_of(plain)), default=0) > _LONGEST_PATTERN:
        raise CheckpointError(f"tokenizer.json has a pattern of more than {_LONGEST_PATTERN:,} characters.")
    for step in steps:
        if len(str(step.get("prepend", ""))) > _LONGEST_PATTERN:
            raise CheckpointError(f"tokenizer.json prepends more than {_LONGEST_PATTERN:,} characters.")
        if "content" in step and isinstance(step.get("pattern"), dict):  # the library needs no type
            _check_replacement(step["pattern"], str(step["content"]))


def _check_replacement(pattern: Mapping[str, Any], target: str) -> None:
    source, expression = pattern.get("String"), pattern.get("Regex")
    inserts = source == "" or (isinstance(expression, str) and not _TAKES_CHARACTERS.fullmatch(expression))
    if target and inserts:
        raise CheckpointError(
            f"tokenizer.json puts {shown(target)} where it finds {json.dumps(pattern):.80}, which may be "
            "between any two characters; no model's tokenizer does that: take it from where the model came "
            "from."
        )
    longest = len(source) if isinstance(source, str) else 1
    if len(target) > max(1, longest):
        raise CheckpointError(
            f"tokenizer.json replaces {json.dumps(pattern):.80} by the longer {shown(target)}, which no "
            "model's tokenizer does: take it from where the model came from."
        )
