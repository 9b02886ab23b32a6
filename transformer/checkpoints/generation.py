"""A model's recommended decoding settings: generation_config.json, in older folders config.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from transformer.checkpoints.reading.raw import Texts, json_object
from transformer.errors import shown

if TYPE_CHECKING:
    from transformer.loaded import GenerationSettings

_LARGEST = 1_000
"""Upper bound on the number of beams and on the n-gram size."""
_LARGEST_EXPONENT = 10.0
_USUAL: Mapping[str, Any] = {
    "begin_suppress_tokens": None,
    "diversity_penalty": 0.0,
    "do_sample": False,
    "early_stopping": False,
    "encoder_no_repeat_ngram_size": 0,
    "exponential_decay_length_penalty": None,
    "forced_decoder_ids": None,
    "max_length": 20,
    "max_new_tokens": None,
    "min_length": 0,
    "min_new_tokens": None,
    "num_beam_groups": 1,
    "repetition_penalty": 1.0,
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "typical_p": 1.0,
}
"""Settings that Headlight's decoding lacks -> transformers' default, which has no effect."""


def generation_values(texts: Texts) -> dict[str, Any]:
    """The values of both files; generation_config.json takes precedence over config.json.

    Raises:
        CheckpointError: for a file that is not a JSON object.
    """
    values = json_object(texts, "config.json")  # a null in config.json overrides the family's default
    told = json_object(texts, "generation_config.json")
    return values | {name: value for name, value in told.items() if value is not None}


def generation_settings(texts: Texts, rows: int) -> GenerationSettings:
    """Read the settings; invalid values are listed as not applied.

    Args:
        texts: the folder's small files.
        rows: number of rows of the target embedding.

    Raises:
        CheckpointError: for a file that is not a JSON object.
    """
    from transformer.loaded import GenerationSettings  # imports torch: files are refused before that

    values, left_out = generation_values(texts), []

    def number(name: str, default: float | None, least: float, most: float, kind: type) -> Any:
        value = values.get(name)
        if value is None:
            return default
        is_number = isinstance(value, int | kind) and not isinstance(value, bool)
        if is_number and least <= value <= most:
            return kind(value)
        left_out.append(f"{name} {shown(value)}")
        return default

    ends = values.get("forced_eos_token_id")
    end = ends[0] if isinstance(ends, list) and ends else ends
    forced = end if isinstance(end, int) and not isinstance(end, bool) and 0 <= end < rows else None
    if end is not None and forced is None:
        left_out.append(f"forced_eos_token_id {shown(ends)}")
    return GenerationSettings(
        beam_size=number("num_beams", 1, 1, _LARGEST, int),
        length_penalty=number("length_penalty", 1.0, -_LARGEST_EXPONENT, _LARGEST_EXPONENT, float),
        no_repeat_ngram_size=number("no_repeat_ngram_size", None, 0, _LARGEST, int),
        forced_end_id=forced,
        not_applied=(*left_out, *_not_applied(values)),
    )


def _not_applied(values: Mapping[str, Any]) -> Iterator[str]:
    for name, usual in _USUAL.items():
        value = values.get(name)
        if value is not None and value != usual:
            yield f"{name} {shown(value)}"
    phrases = [ids for ids in _as_list(values.get("bad_words_ids")) if isinstance(ids, list) and len(ids) > 1]
    if phrases:
        yield f"bad_words_ids of several tokens ({len(phrases):,})"


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
