"""Whole pickled torch.nn modules: their tensors by name, and their settings."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from transformer.checkpoints.reading.formats.pickles.values import Global, Opaque

PARAMETERS, BUFFERS, MODULES = "_parameters", "_buffers", "_modules"
_NOT_SAVED = "_non_persistent_buffers_set"
_EPS, _NORM_EPS = "eps", "layer_norm_eps"
_NORM = "Norm"
_ACTIVATION = "activation"
_TANH = "tanh"
_MOST_SETTINGS = 500_000
_MOST_ATTRIBUTES = 1_000
_LONGEST_VALUE = 80


def is_module(value: Any) -> bool:
    """True if an object has a module's attributes, whatever its class."""
    if not isinstance(value, Opaque):
        return False
    attributes = value.attributes
    return all(isinstance(attributes.get(name), dict) for name in (PARAMETERS, BUFFERS, MODULES))


def contents_of(module: Opaque) -> tuple[dict[Any, Any], ...]:
    """A module's parameters, buffers and submodules."""
    return tuple(module.attributes[name] for name in (PARAMETERS, BUFFERS, MODULES))


def module_items(module: Opaque) -> Iterator[tuple[Any, Any]]:
    """The entries of a module's state_dict in order: parameters, persistent buffers, submodules."""
    not_saved = module.attributes.get(_NOT_SAVED)
    parameters, buffers, modules = contents_of(module)
    for key, value in parameters.items():
        if value is not None:
            yield key, value
    for key, value in buffers.items():
        if value is not None and not (isinstance(not_saved, set) and key in not_saved):
            yield key, value
    for key, value in modules.items():
        if is_module(value):
            yield key, value


def module_settings(modules: Iterable[Opaque]) -> Mapping[str, Any]:
    """Plain attributes that have the same value in all modules and submodules.

    A norm's eps is called layer_norm_eps, and the value of an activation is its name.
    """
    told: dict[str, Any] = {}
    differ: set[str] = set()
    for name, value in islice(_all_settings(modules), _MOST_SETTINGS):
        if name in told and (type(told[name]), told[name]) != (type(value), value):
            differ.add(name)
        told.setdefault(name, value)
    return {name: value for name, value in told.items() if name not in differ}


def _all_settings(modules: Iterable[Opaque]) -> Iterator[tuple[str, Any]]:
    """The attributes of each module, once per module, outer modules first."""
    pending = deque(modules)
    found = set(map(id, pending))
    while pending:
        module = pending.popleft()
        attributes = module.attributes
        yield from _settings(module)
        for child in attributes[MODULES].values():
            if is_module(child) and id(child) not in found:
                found.add(id(child))
                pending.append(child)


def _settings(module: Opaque) -> Iterator[tuple[str, Any]]:
    """The settings of one module; none if it has more attributes than any real module."""
    is_norm = module.name.endswith(_NORM)
    attributes = module.attributes
    if len(attributes) > _MOST_ATTRIBUTES:
        return
    # An attribute takes precedence over a submodule of the same name, as in Python's attribute lookup.
    for name, value in ({_ACTIVATION: attributes[MODULES].get(_ACTIVATION)} | attributes).items():
        if not isinstance(name, str) or name.startswith("_") or len(name) > _LONGEST_VALUE:
            continue
        if name == _ACTIVATION and isinstance(value, Global | Opaque):
            yield name, _activation(value)
        elif isinstance(value, bool | int | float) or (
            isinstance(value, str) and len(value) <= _LONGEST_VALUE
        ):
            yield (_NORM_EPS if is_norm and name == _EPS else name), value


def _activation(value: Global | Opaque) -> str:
    """The activation's usual name: relu for torch.nn.functional.relu and torch.nn.modules.activation.ReLU."""
    name = str(value).rpartition(".")[2].lower()
    is_approximate = isinstance(value, Opaque) and value.attributes.get("approximate") == _TANH
    return f"{name}_{_TANH}" if is_approximate else name
