"""Conditions on a checkpoint: names that must or must not be there, lengths, what config.json says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from transformer.checkpoints.importing.family import Patterns, may_be
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout.questions import sinusoid_layout
from transformer.checkpoints.importing.not_computed import missing_by_name
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor

_FLOATS = ("F32", "F16", "BF16")


def holds(
    conditions: Mapping[str, Any],
    raw: RawCheckpoint,
    settings: Mapping[str, Any] | None = None,
    told: ForeignConfig | None = None,
) -> bool:
    """True if all conditions hold.

    Args:
        conditions: kind -> what it needs:
            model_type: config.json names one of these, or none;
            has, has_any, lacks: all, some, or none, of these tensors are there;
            rows: tensor -> lengths, of which its first axis has one;
            tall: these tensors have more rows than columns;
            rows_over_columns: tensor -> the ratio of its first axis to its second;
            says: attribute of config.json -> its value, or a list of values;
            has_config: whether there is a config.json;
            part_of_names, no_part_of_names: words in stored names, between dots: one, or none, occurs;
            below_zero: ending of names -> share of their numbers that is exceeded by those below 0;
            mean_below: tensor -> what the mean of its numbers is below;
            saved: the trainer saved all of these next to the weights;
            chosen: a setting -> its value, or = and the name of a setting that is equal;
            sinusoids: tensor -> how its numbers order the paper's sinusoids, false for learned numbers;
            one_tensor: two names that refer to the same numbers in the files;
            uncomputed_names: whether most names begin with a type of model that ours does not compute;
            any: several sets of conditions, one of which holds;
            not: conditions that don't all hold.
        raw: the checkpoint, without prefixes.
        settings: those filled in so far, for `chosen`.
        told: the configuration, if it has been read.
    """
    context = _Context(raw, settings or {}, told)
    return all(_TESTS[kind](needed, context) for kind, needed in conditions.items())


class _Context(NamedTuple):
    """What conditions are about."""

    raw: RawCheckpoint
    settings: Mapping[str, Any]
    told: ForeignConfig | None


def _listed(values: Any) -> Iterable[Any]:
    return values if isinstance(values, list) else [values]


def chosen(conditions: Mapping[str, Any]) -> Iterator[str]:
    """The settings that conditions are about."""
    for name, values in conditions.get("chosen", {}).items():
        yield name
        yield from (one[1:] for one in _listed(values) if isinstance(one, str) and one.startswith("="))
    for lengths in conditions.get("rows", {}).values():
        yield from (one[1:] for one in _listed(lengths) if isinstance(one, str) and one.startswith("="))
    nested = [*conditions.get("any", ()), *([conditions["not"]] if "not" in conditions else ())]
    for one in nested:
        yield from chosen(one)


def _chosen(value: Any, settings: Mapping[str, Any]) -> Any:
    return settings.get(value[1:]) if isinstance(value, str) and value.startswith("=") else value


def _is_tall(stored: StoredTensor | None) -> bool:
    return stored is not None and len(stored.shape) == 2 and stored.shape[0] > stored.shape[1]


def _is_as_tall(stored: StoredTensor | None, ratio: float) -> bool:
    return stored is not None and len(stored.shape) == 2 and stored.shape[0] == ratio * stored.shape[1]


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


def _is_below(stored: StoredTensor | None, limit: float) -> bool:
    return (
        stored is not None and stored.dtype in _FLOATS and float(map_tensor(stored).double().mean()) < limit
    )


def _has_rows(needed: Any, of: _Context) -> bool:
    return all(
        name in of.raw.tensors
        and of.raw.tensors[name].shape[:1] in [(_chosen(n, of.settings),) for n in _listed(lengths)]
        for name, lengths in needed.items()
    )


def _says(needed: Any, of: _Context) -> bool:
    told = of.raw.json("config.json") if of.told is None else of.told
    return all(told.get(name) in _listed(values) for name, values in needed.items())


def _is_chosen(needed: Any, settings: Mapping[str, Any]) -> bool:
    return all(
        settings.get(name) in [_chosen(value, settings) for value in _listed(values)]
        for name, values in needed.items()
    )


def _orders_sinusoids(stored: StoredTensor | None, layout: Any) -> bool:
    return stored is not None and (sinusoid_layout(stored) or False) == layout


def _in_names(words: Any, raw: RawCheckpoint) -> bool:
    parts = {part for stored in raw.tensors.values() for part in stored.name.split(".")[:-1]}
    return not parts.isdisjoint(_listed(words))


_TESTS: Mapping[str, Callable[[Any, _Context], bool]] = {
    "model_type": lambda needed, of: may_be(of.raw, *_listed(needed)),
    "has": lambda needed, of: all(_found(name, of.raw) for name in _listed(needed)),
    "has_any": lambda needed, of: any(_found(name, of.raw) for name in _listed(needed)),
    "lacks": lambda needed, of: not any(_found(name, of.raw) for name in _listed(needed)),
    "rows": _has_rows,
    "rows_over_columns": lambda needed, of: all(
        _is_as_tall(of.raw.tensors.get(name), ratio) for name, ratio in needed.items()
    ),
    "tall": lambda needed, of: all(_is_tall(of.raw.tensors.get(name)) for name in _listed(needed)),
    "says": _says,
    "has_config": lambda needed, of: (of.told is not None or "config.json" in of.raw.texts) == needed,
    "part_of_names": lambda needed, of: _in_names(needed, of.raw),
    "no_part_of_names": lambda needed, of: not _in_names(needed, of.raw),
    "below_zero": lambda needed, of: all(
        _share_below_zero(ending, of.raw) > share for ending, share in needed.items()
    ),
    "mean_below": lambda needed, of: all(
        _is_below(of.raw.tensors.get(name), limit) for name, limit in needed.items()
    ),
    "saved": lambda needed, of: all(name in of.raw.extras for name in _listed(needed)),
    "chosen": lambda needed, of: _is_chosen(needed, of.settings),
    "sinusoids": lambda needed, of: all(
        _orders_sinusoids(of.raw.tensors.get(name), layout) for name, layout in needed.items()
    ),
    "one_tensor": lambda needed, of: of.raw.same_numbers(*needed),
    "uncomputed_names": lambda needed, of: (
        needed == bool(missing_by_name([stored.name for stored in of.raw.tensors.values()]))
    ),
    "any": lambda needed, of: any(holds(conditions, *of) for conditions in needed),
    "not": lambda needed, of: not holds(needed, *of),
}
"""Kind of condition -> its test of what it needs."""
