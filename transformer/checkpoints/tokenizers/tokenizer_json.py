"""Tokenizers of tokenizer.json, the file of Hugging Face's library `tokenizers`.

The file is used as it is, where Hugging Face's library 5 rebuilds some families' tokenizers from its
vocabulary alone.
"""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer, models

from transformer.checkpoints.tokenizers.built import Built, Spelling, add_special_tokens
from transformer.checkpoints.tokenizers.settings import (
    MAX_ADDED,
    MAX_TOKENS,
    Texts,
    TokenizerSettings,
    json_object,
)
from transformer.checkpoints.tokenizers.steps import check_steps, steps_of
from transformer.checkpoints.tokenizers.vocabulary_files import file_text, frame_by_settings
from transformer.errors import CheckpointError

MODELS = ("BPE", "Unigram", "WordLevel", "WordPiece")


def build_from_json(texts: Texts, settings: TokenizerSettings) -> Built:
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
    return Built(tokenizer, spelling, named, cleans, prefix if isinstance(prefix, str) else "##")


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
    """Refuse a model that has no token for what it doesn't know: the library fails at the first such text."""
    vocabulary, unknown = model.get("vocab"), model.get("unk_token")
    if isinstance(vocabulary, list) and model.get("unk_id") is None:  # Unigram, even with a token per byte
        raise CheckpointError(
            "tokenizer.json doesn't say which token stands for unknown characters (unk_id): take it from "
            "where the model came from."
        )
    if "merges" in model:  # BPE may know every byte instead
        return
    if isinstance(vocabulary, dict) and isinstance(unknown, str) and unknown not in vocabulary:
        raise CheckpointError(
            f"tokenizer.json names {unknown!r:.80} as the token for unknown words, but its vocabulary hasn't "
            "that: take it from where the model came from."
        )


def _spelling(plain: dict[str, Any]) -> Spelling:
    kinds = {step.get("type") for step in steps_of(plain, "pre_tokenizer", "decoder")}
    if "ByteLevel" in kinds:
        return "bytes"
    return "continuations" if plain["model"].get("type") in ("WordPiece", "WordLevel") else "marks"
