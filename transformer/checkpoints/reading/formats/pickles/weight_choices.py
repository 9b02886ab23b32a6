"""Finds the keys of a trainer's dictionary that contain the weights, or several versions of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transformer.checkpoints.reading.formats.pickles.modules import is_module, module_items
from transformer.checkpoints.reading.formats.pickles.plain_values import items_of
from transformer.checkpoints.reading.formats.pickles.values import PickledTensor
from transformer.checkpoints.reading.limits import Limits

WEIGHT_KEYS = ("state_dict", "model_state_dict", "model", "module", "net")
"""Keys under which trainers save the weights, the likeliest first."""

_AVERAGED = re.compile(r"(^|_)(ema|swa|avg|average|averaged|shadow|teacher)(_|$)", re.IGNORECASE)
_VERSIONS = re.compile(r"(^|_)(student|best|last|latest|current)(_|$)", re.IGNORECASE)
"""Keys of weights that may have other versions."""
_PARTS = re.compile(
    r"enc|dec|src|source|tgt|target|gen|disc|crit|emb|layer|block|head|attn|norm", re.IGNORECASE
)
"""Keys of parts of one model, which may have the same names and shapes."""
_WRAPPERS = ("module.", "_orig_mod.")
_COUNTER = "n_averaged"
_LONGEST_KEY = 80


@dataclass(frozen=True)
class Home:
    """The key of the weights, and all keys to choose from; none if there is only one."""

    key: str
    choices: tuple[str, ...] = ()


def is_averaged(key: str) -> bool:
    """True if the weights under this key are averages over a training run."""
    return bool(_AVERAGED.search(key))


def find_home(
    possible: Mapping[str, Any], wanted: str, limits: Limits, *, is_state_dict: bool
) -> Home | None:
    """Find the key of the weights; None if they are not under a key of their own.

    Args:
        possible: key -> dictionary or module with tensors, not an optimizer's.
        wanted: the key to take where there are several, in lower case.
        limits: limits on names and counts.
        is_state_dict: whether the dictionary also has tensors of its own.
    """
    keys = [key for key in possible if len(key) <= _LONGEST_KEY]
    usual = [key for key in WEIGHT_KEYS if key in keys]
    if not keys or (is_state_dict and not usual):
        return None
    others = sorted((key for key in keys if key not in usual), key=is_averaged)
    first = (usual + others)[0]
    names = _names(possible[first], limits)
    alike = [key for key in usual + others if key == first or names == _names(possible[key], limits)]
    if names and len(alike) > 1 and (usual or _are_versions(alike, names)):
        key = next((key for key in alike if key.lower() == wanted), first)
        return Home(key, tuple(alike))
    if usual or (len(possible) == 1 and (is_averaged(first) or first.isdecimal())):
        return Home(first)
    # In a tuple, the item that looks like a state dict: `(state_dict, state for resuming)`.
    states = [key for key in keys if key.isdecimal() and _is_state_dict(possible[key])]
    return Home(states[0]) if len(states) == 1 else None


def _is_state_dict(value: Any) -> bool:
    return is_module(value) or all(isinstance(item, PickledTensor) for _, item in items_of(value))


def _are_versions(keys: list[str], names: Mapping[str, Any]) -> bool:
    """True for versions of one model rather than its parts, which may have the same names and shapes."""
    if any(is_averaged(key) or _VERSIONS.search(key) for key in keys):
        return True
    return not any(_PARTS.search(key) for key in keys) and any("." in name for name in names)


def _names(value: Any, limits: Limits) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tensors, without wrapper prefixes; empty if there are too many."""
    found: dict[str, tuple[int, ...]] = {}
    inner = next(
        (key for key in WEIGHT_KEYS if isinstance(value, dict) and isinstance(value.get(key), dict)), None
    )
    pending = [("", value if inner is None else value[inner])]
    while pending:
        name, value = pending.pop()
        if isinstance(value, PickledTensor):
            found[name] = value.shape
            continue
        if len(name) > limits.max_name_length or len(found) > limits.max_tensors:
            return {}
        for key, item in module_items(value) if is_module(value) else items_of(value):
            joined = f"{name}.{key}" if name else str(key)
            for wrapper in _WRAPPERS:
                joined = joined.removeprefix(wrapper)
            if joined not in ("module", "_orig_mod", _COUNTER) or not isinstance(item, PickledTensor):
                pending.append(("" if joined in ("module", "_orig_mod") else joined, item))
    return found
