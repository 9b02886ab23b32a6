"""Entries of a layout's `config` that fill in several fields: rotation, generator, divisor of the scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from transformer.checkpoints.importing.layout import (
    head,
    questions,
    rotary,
    rotary_questions,
    windows,
)
from transformer.checkpoints.importing.layout.derived import Settings
from transformer.checkpoints.importing.layout.file import OTHER_HEAD

_HALVES = {"BF16": "bfloat16", "F16": "float16"}


class Group(NamedTuple):
    """What fills in several fields.

    Attributes:
        fields: those that it fills in.
        function: fills them in, from the entry in the file.
    """

    fields: frozenset[str]
    function: Callable[[Settings, Mapping[str, Any]], None]


def _rotation(reading: Settings, spec: Mapping[str, Any]) -> None:
    """Base, rotated part and stretch of rotary positions (base, part, base_key, part_key, entry, ask)."""
    draft = reading.draft
    reading.get("d_head")
    if "d_head" not in draft.settings:
        draft.put(
            "d_head",
            reading.get("d_model") // max(1, reading.get("n_heads")),
            "shapes",
            "d_model over n_heads",
        )
    dims = reading.get("rotary_dims") if "rotary_dims" in reading.layout.config else None
    part = 0.0 if dims else spec.get("part", 0.0)
    usual, bases = float(spec.get("base", 10_000.0)), spec.get("bases", {})
    if draft.config is not None:
        keys = spec.get("base_key", "rope_theta"), spec.get("part_key", "partial_rotary_factor")
        rotary.put_rotary(draft, draft.config, rotary.Names(usual, part, *keys, spec.get("entry", "")))
        return
    if bases:
        rotary_questions.ask_base(draft, {float(base): str(label) for base, label in bases.items()})
    else:
        draft.layout(reading.layout.every, position_base=usual)
    if part:
        rotary.ask_rotary_dims(draft, round(1 / part))


def _generator(reading: Settings, spec: Mapping[str, Any]) -> None:
    """A decoder's generator as transformers saves it (tied, bare)."""
    others = [name for name, why in reading.layout.ignored.items() if why == OTHER_HEAD]
    derived = reading.derived
    words, generator = derived.embedding(), derived.stored("generator.weight") or "lm_head.weight"
    bare = spec.get("bare", [])
    head.read_head(
        reading.draft,
        words,
        generator=generator,
        tied=spec.get("tied", False),
        heads=others,
        bare=tuple(bare if isinstance(bare, list) else [bare]),
    )


def _divisor(reading: Settings, spec: Mapping[str, Any]) -> None:
    """By the root of which width scores are divided (answers, why)."""
    reading.get("d_model")
    questions.ask_score_width(reading.draft, spec["answers"], spec.get("why", ""))


def _rounded_scale(reading: Settings, spec: Mapping[str, Any]) -> None:
    """sqrt(d_model) in the precision of the stored embeddings, as Gemma's code computes it."""
    draft, exact = reading.draft, math.sqrt(reading.get("d_model"))
    embedding = draft.raw.tensors.get(reading.derived.embedding())
    half = None if embedding is None else _HALVES.get(embedding.dtype)
    rounded = exact if half is None else _rounded(exact, half)
    if rounded == exact:
        draft.layout(reading.layout.every, embedding_scale=True)
    else:
        why = f"sqrt(d_model), {exact:.5g}, {spec['why']}"
        draft.put("embedding_scale", rounded, "shapes", why)


def _rounded(value: float, dtype: str) -> float:
    import torch  # imported here because rejected files don't need it

    return torch.tensor(value, dtype=getattr(torch, dtype)).item()


GROUPS: Mapping[str, Group] = {
    "rotary": Group(
        frozenset(("position_base", "rotary_dims", "rotary_stretch", "stretch_start", "stretch_full")),
        _rotation,
    ),
    "generator": Group(frozenset(("has_generator", "tie_generator", "generator_bias")), _generator),
    "scores_divided_by": Group(frozenset(("attention_scale",)), _divisor),
    "rounded_embedding_scale": Group(frozenset(("embedding_scale",)), _rounded_scale),
    "windows": Group(frozenset(("attention_windows",)), windows.put_windows),
    "bases_of_layers": Group(frozenset(("position_bases",)), windows.put_bases),
}
"""Entry of `config` -> the fields that it fills in, and how."""
