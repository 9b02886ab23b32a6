"""Conditions on a checkpoint: names that must or must not be there, lengths, what config.json says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from transformer.checkpoints.importing.family import Patterns, may_be
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.raw import RawCheckpoint

_FLOATS = ("F32", "F16", "BF16")


def holds(
    conditions: Mapping[str, Any], raw: RawCheckpoint, settings: Mapping[str, Any] | None = None
) -> bool:
    """True if all conditions hold.

    Args:
        conditions: kind -> what it needs:
            model_type: config.json names one of these, or none;
            has, lacks: all, or none, of these tensors is there;
            rows: tensor -> lengths, of which its first axis has one;
            says: attribute of config.json -> its value, or a list of values;
            has_config: whether there is a config.json;
            part_of_names, no_part_of_names: words in stored names, between dots: one, or none, occurs;
            below_zero: ending of names -> share of their numbers that is exceeded by those below 0;
            chosen: a setting -> its value.
        raw: the checkpoint, without prefixes.
        settings: those filled in so far, for `chosen`.
    """
    return all(_holds(kind, needed, raw, settings or {}) for kind, needed in conditions.items())


def _holds(kind: str, needed: Any, raw: RawCheckpoint, settings: Mapping[str, Any]) -> bool:
    if kind == "model_type":
        return may_be(raw, *_listed(needed))
    if kind == "has":
        return all(_found(name, raw) for name in _listed(needed))
    if kind == "lacks":
        return not any(_found(name, raw) for name in _listed(needed))
    if kind == "rows":
        return all(
            name in raw.tensors and raw.tensors[name].shape[:1] in [(n,) for n in _listed(lengths)]
            for name, lengths in needed.items()
        )
    if kind == "says":
        told = raw.json("config.json")
        return all(told.get(name) in _listed(values) for name, values in needed.items())
    if kind == "has_config":
        return ("config.json" in raw.texts) == needed
    if kind == "chosen":
        return all(settings.get(name) in _listed(values) for name, values in needed.items())
    if kind == "below_zero":
        return all(_share_below_zero(ending, raw) > share for ending, share in needed.items())
    parts = {part for stored in raw.tensors.values() for part in stored.name.split(".")[:-1]}
    return bool(parts & set(_listed(needed))) == (kind == "part_of_names")


def _listed(values: Any) -> Iterable[Any]:
    return values if isinstance(values, list) else [values]


def _found(pattern: str, raw: RawCheckpoint) -> bool:
    if "{}" not in pattern:
        return pattern in raw.tensors
    patterns = Patterns([pattern])
    return any(patterns.find(name) for name in raw.tensors)


def _share_below_zero(ending: str, raw: RawCheckpoint) -> float:
    stored = [one for name, one in raw.tensors.items() if name.endswith(ending) and one.dtype in _FLOATS]
    weights = [map_tensor(one).flatten() for one in stored]
    below = sum(int((weight < 0).sum()) for weight in weights)
    return below / max(1, sum(len(weight) for weight in weights))
