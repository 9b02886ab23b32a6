"""Scales of the path: numbers that are compared with one another share one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from viz.components.path import Array, Part
from viz.pages.step_by_step.path.parts import is_norm, motion_of
from viz.pages.step_by_step.stages.stage import Stage
from viz.theme import color_range

Grouping: TypeAlias = tuple[str, bool, bool]
"""A group of compared tensors, whether they are drawn as bars, and whether they are shares."""
CLIPPED_AT = 4.0
"""A colour scale ends at so many root mean squares, or a few large numbers would leave the others pale."""


def with_shared_scales(steps: Sequence[tuple[Stage, list[Part]]]) -> list[list[Part]]:
    """Give the parts their scales: numbers that are compared with one another share one.

    These are the terms of a sum and its result, a vector before and after it is scaled or rotated, a query
    and the keys, values and their average, heads side by side, and scores before and after mask, bias or cap.
    """
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        while parents.setdefault(name, name) != name:
            name = parents[name]
        return name

    def key_of(part: Part) -> Grouping:
        return root(part.group), part.form == "bars", part.is_share

    sums = [parts for stage, parts in steps if motion_of(stage) == "sum"]
    streams = {part.values.tobytes(): part.group for parts in sums for part in parts}
    for stage, parts in steps:
        compared = _compared(stage, parts, streams)
        for group in compared:
            parents[root(group)] = root(compared[0])
    values: dict[Grouping, list[Array]] = {}
    for _, parts in steps:
        for part in parts:
            values.setdefault(key_of(part), []).append(part.values.ravel())
    ends = {key: _ends(np.concatenate(all_), key) for key, all_ in values.items()}
    return [
        [replace(part, scale=ends[key_of(part)], group=root(part.group)) for part in parts]
        for _, parts in steps
    ]


def _compared(stage: Stage, parts: Sequence[Part], streams: dict[bytes, str]) -> list[str]:
    """The groups of a step that share a scale.

    Args:
        streams: the groups of all sums, by their numbers, which a norm reads under another name.
    """
    if is_norm(stage):
        known = streams.get(parts[0].values.tobytes())
        return [parts[0].group, known] if known else []
    motion = motion_of(stage)
    if motion in ("project", "each", "choose", "appear") or stage.name == "logits":
        return []
    # A query and its keys are compared with each other, and not with their products.
    forms = ("bars",) if motion == "column" else ("strip", "rows")
    return [part.group for part in parts if part.form in forms and part.role != "kept"]


def _ends(values: Array, key: Grouping) -> tuple[float, float]:
    _, is_bars, is_share = key
    low, high = color_range(values, signed=not is_share)
    if is_bars or is_share:
        return low, high
    finite = values[np.isfinite(values)]
    limit = min(high, CLIPPED_AT * float(np.sqrt(np.mean(finite**2)))) if finite.any() else high
    return -limit, limit
