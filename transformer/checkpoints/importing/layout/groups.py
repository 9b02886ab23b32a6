"""Entries of a layout's `config` that fill in several fields: rotation, generator, divisor of the scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from transformer.checkpoints.importing.layout import head, rotary, windows
from transformer.checkpoints.importing.layout.derived import Settings

_HALVES = {"BF16": "bfloat16", "F16": "float16"}


class Group(NamedTuple):
    """What fills in several fields.

    Attributes:
        fields: those that it fills in.
        function: fills them in, from the entry in the file.
    """

    fields: frozenset[str]
    function: Callable[[Settings, Mapping[str, Any]], None]


def _divisor(reading: Settings, spec: Mapping[str, Any]) -> None:
    """By the root of which width scores are divided; `spec` has answers (head, model) and why."""
    draft, d_model, question = reading.draft, reading.get("d_model"), "scores_divided_by"
    width = draft.ask(
        question,
        "By the square root of which width are the scores divided?",
        f"It is written in the program and not stored. {spec.get('why', '')} With the wrong one all "
        "attention is sharper or flatter than it was trained.",
        spec["answers"],
    )
    scale = True if width == "head" else d_model**-0.5
    draft.put("attention_scale", scale, draft.settings[question].source, f"{question}, above")


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
        rotary.put_rotation,
    ),
    "generator": Group(frozenset(("has_generator", "tie_generator", "generator_bias")), head.put_generator),
    "scores_divided_by": Group(frozenset(("attention_scale",)), _divisor),
    "rounded_embedding_scale": Group(frozenset(("embedding_scale",)), _rounded_scale),
    "windows": Group(frozenset(("attention_windows",)), windows.put_windows),
    "bases_of_layers": Group(frozenset(("position_bases",)), windows.put_bases),
}
"""Entry of `config` -> the fields that it fills in, and how."""
