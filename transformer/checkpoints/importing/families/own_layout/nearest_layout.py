"""The known layout whose names are most like a checkpoint's, and in which of them they differ."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice

from transformer.checkpoints.importing.family import Family
from transformer.checkpoints.importing.nearest_names import nearest
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError, shown

_NEAR = 0.3
"""Smallest share of a checkpoint's names at which a layout is called the nearest."""
_MOST_PREFIXES = 12
_LONGEST_PREFIX = 3


def nearest_layout(raw: RawCheckpoint, names: Sequence[str], families: Iterable[Family]) -> str:
    """One sentence or two.

    Args:
        raw: the checkpoint, without wrappers.
        names: those of its tensors that are compared: of each stack one layer, numbered 0.
        families: the known layouts.
    """
    best: tuple[tuple[int, int, bool, int], Family, list[str], list[str]] | None = None
    views = [(prefix, _without(raw, names, prefix)) for prefix in _prefixes(names)]
    for family in families:
        known = {theirs.replace("{}", "0"): theirs for theirs in family.renames or ()}
        ignored = {theirs.replace("{}", "0") for theirs in family.ignored}
        for prefix, view in views:
            arranged = _arranged(family, view)
            others = [name for name in arranged if name not in known and name not in ignored]
            lacking = [name for name in known if name not in arranged]
            is_head = family.name == family.kin
            fit = len(arranged) - len(others), -prefix.count("."), is_head, -len(lacking)
            if best is None or fit > best[0]:
                best = fit, family, others, lacking
    if best is None or best[0][0] < _NEAR * len(names):
        return "None of Headlight's layouts has names like these."
    return f"The nearest layout is {best[1].label}. {_difference(*best[2:])}"


def _prefixes(names: Iterable[str]) -> Iterable[str]:
    """What may stand before a layout's own names, the shortest first."""
    parts = [name.split(".")[:-1] for name in names]
    found = {
        ".".join(part[:n]) + "." for part in parts for n in range(1, min(len(part), _LONGEST_PREFIX) + 1)
    }
    return ["", *islice(sorted(found, key=lambda prefix: (prefix.count("."), prefix)), _MOST_PREFIXES)]


def _without(raw: RawCheckpoint, names: Iterable[str], prefix: str) -> RawCheckpoint:
    stored = next(iter(raw.tensors.values()))
    return replace(raw, tensors={name.removeprefix(prefix): raw.tensors.get(name, stored) for name in names})


def _arranged(family: Family, view: RawCheckpoint) -> Collection[str]:
    try:
        return family.arranged(view).tensors
    except CheckpointError:
        return view.tensors


def _difference(others: Sequence[str], lacking: Sequence[str]) -> str:
    if not others:
        return "It has all of these names."
    first = next((name for name in others if not name.endswith("bias")), others[0])
    near = nearest(first, lacking, n=1)
    instead = f" (but {shown(near[0])})" if near else ""
    more = f" and {len(others) - 1} more of these names" if len(others) > 1 else ""
    return f"It does not have {shown(first)}{instead}{more}."
