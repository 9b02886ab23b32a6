"""Tokenizers of tokenizer.json, the file of Hugging Face's library `tokenizers`.

The file is used as it is, where Hugging Face's library 5 rebuilds some families' tokenizers from its
vocabulary alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tokenizers import Tokenizer, models

from transformer.checkpoints._files import CheckpointError
from transformer.foreign_text.built import Built, Spelling, add_special_tokens
from transformer.foreign_text.sentence_pieces import frame_with_language
from transformer.foreign_text.settings import (
    MAX_ADDED,
    Texts,
    TokenizerSettings,
    json_object,
)
from transformer.foreign_text.vocabulary_files import MAX_TOKENS, file_text, frame_by_settings

MODELS = ("BPE", "Unigram", "WordLevel", "WordPiece")
_STAGES = ("normalizer", "pre_tokenizer", "decoder", "post_processor")
_MOST_STEPS = 64
_LONGEST_PATTERN = 2_000


def build_from_json(texts: Texts, settings: TokenizerSettings, *, like_mbart: bool) -> Built:
    """Build the tokenizer of tokenizer.json.

    Raises:
        CheckpointError: for a file that the library doesn't read, or that would make text grow.
    """
    plain = json_object(texts, "tokenizer.json")
    _check(plain)
    try:
        tokenizer = Tokenizer.from_str(file_text(texts, "tokenizer.json"))
    except Exception as error:  # the library raises nothing more precise
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
    built = Built(tokenizer, spelling, named, cleans, prefix if isinstance(prefix, str) else "##")
    return frame_with_language(built, settings) if like_mbart else built


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
    steps = [step for stage in _STAGES for step in _steps(plain.get(stage))]
    if len(steps) > _MOST_STEPS:
        raise CheckpointError(f"tokenizer.json works in more than {_MOST_STEPS} steps: it is no model's.")
    for step in steps:
        _check_step(step)


def _steps(stage: object) -> Iterator[dict[str, Any]]:
    """The steps of a stage, and those inside them."""
    waiting = [stage]
    while waiting:
        step = waiting.pop()
        if isinstance(step, list):
            waiting += step
        elif isinstance(step, dict):
            yield step
            waiting += [step.get(name) for name in ("normalizers", "pretokenizers", "decoders", "processors")]


def _check_step(step: dict[str, Any]) -> None:
    """Refuse replacements that are longer than what they replace: in a row, they would fill all memory."""
    if len(str(step.get("prepend", ""))) > _LONGEST_PATTERN:
        raise CheckpointError(f"tokenizer.json prepends more than {_LONGEST_PATTERN:,} characters.")
    pattern = step.get("pattern")
    if not isinstance(pattern, dict):
        return
    source, target = pattern.get("String"), step.get("content", "")
    if max(len(str(text)) for text in pattern.values()) > _LONGEST_PATTERN:
        raise CheckpointError(f"tokenizer.json has a pattern of more than {_LONGEST_PATTERN:,} characters.")
    longest = len(source) if isinstance(source, str) else 1
    if step.get("type") == "Replace" and len(str(target)) > max(1, longest):
        raise CheckpointError(
            f"tokenizer.json replaces {json.dumps(pattern):.80} by the longer {target!r:.80}, which no "
            "model's tokenizer does: take it from where the model came from."
        )


def _spelling(plain: dict[str, Any]) -> Spelling:
    kinds = {step.get("type") for stage in _STAGES[1:3] for step in _steps(plain.get(stage))}
    if "ByteLevel" in kinds:
        return "bytes"
    return "continuations" if plain["model"].get("type") in ("WordPiece", "WordLevel") else "marks"
