"""Picks the model's tensors out of everything that a trainer pickled."""

from __future__ import annotations

import re
from typing import Any

from transformer.checkpoints.reading.formats.pickles.globals import unread_tensor
from transformer.checkpoints.reading.formats.pickles.modules import (
    contents_of,
    is_module,
    module_items,
    module_settings,
)
from transformer.checkpoints.reading.formats.pickles.plain_values import NOTHING, PlainValues, items_of
from transformer.checkpoints.reading.formats.pickles.values import (
    SAVE_WEIGHTS,
    STORAGES,
    Opaque,
    OpaqueTensor,
    PickledTensor,
    Storage,
    StorageView,
    check_dense,
)
from transformer.checkpoints.reading.formats.pickles.weight_choices import Home, find_home, is_averaged
from transformer.checkpoints.reading.formats.quantised import check_not_quantised
from transformer.checkpoints.reading.limits import Limits, check_count, check_name
from transformer.errors import CheckpointError, shown

_NOT_WEIGHTS = re.compile(r"(optim|sched|lr_sched|scaler|amp$|callbacks$|loops$|(.*_)?rng)", re.IGNORECASE)
"""Keys under which trainers save tensors other than weights."""

MAX_DEPTH = 32
MAX_VALUES = 1_000_000
MAX_CHARACTERS = 16_000_000
"""Repeated values count every time: a few bytes of a pickle can refer to the same text a million times."""

_SAVED_APART = "generator"
"""The part of the model that OpenNMT saves under a key of its own."""

_MODULE_COST = 20
"""Number of values that a module counts as, because reading it takes longer."""
_MOST_LOOKED_AT = 8
"""Number of an object's arguments searched for a tensor."""

MODULE_SETTINGS = "attributes of the modules"
"""Key in `extras` for the settings of modules that were saved whole."""


class SavedWeights:
    """A trainer's saved object, split into the model's tensors and the rest.

    Attributes:
        tensors: the model's tensors by name; the keys of nested dictionaries and modules are joined by dots.
        extras: plain values saved with them: text, numbers, None; sets and tuples become lists.
        left_out: top-level key, or the path of an optimizer -> number of tensors under it that are not the
            model's.
        choices: keys of weights with the same names and shapes, the likeliest first; `tensors` has those of
            one key. Empty without a choice.
    """

    def __init__(self, value: Any, limits: Limits, wanted: str = "") -> None:
        """Sort the contents of a pickle.

        Args:
            value: as `read_pickle` returns it.
            limits: limits on names, shapes and counts.
            wanted: which of the choices to take, in lower case; the first if it is not among them.

        Raises:
            CheckpointError: when there are no named tensors, or the nesting is too deep.
        """
        self.tensors: dict[str, PickledTensor] = {}
        self.extras: dict[str, Any] = {}
        self.left_out: dict[str, int] = {}
        self.choices: tuple[str, ...] = ()
        self._limits = limits
        self._wanted = wanted
        self._n_values = 0
        self._n_characters = 0
        self._seen: set[int] = set()
        self._inside: dict[int, int] = {}
        self._plain = PlainValues()
        self._unread: dict[str, str] = {}
        self._modules: list[Opaque] = []
        self._objects: tuple[str, ...] = ()
        self._take(value)
        check_not_quantised([*self.tensors, *self._unread])
        for name, tensor in self.tensors.items():
            self._check_weight(f"the tensor {shown(name)}", tensor)
        for name, kind in self._unread.items():
            raise unread_tensor(f"the tensor {shown(name)}", kind)
        if not self.tensors:
            others = ", ".join([*map(shown, [*self.left_out, *self.extras]), *self._objects][:5]) or "nothing"
            raise CheckpointError(f"holds no weights, only {others}: save it again with {SAVE_WEIGHTS}.")
        if self._modules:
            self.extras.setdefault(MODULE_SETTINGS, dict(module_settings(self._modules)))

    def _take(self, value: Any) -> None:
        """Pick the weights out of a saved object."""
        if isinstance(value, PickledTensor):
            raise CheckpointError(f"holds one tensor without a name: save it again with {SAVE_WEIGHTS}.")
        if isinstance(value, OpaqueTensor):
            raise unread_tensor("one tensor without a name", str(value))
        if _is_optimizer(value):
            raise CheckpointError(
                "holds the state of an optimizer and no weights: choose the file of the model's weights, "
                "which a trainer saves with it."
            )
        if is_module(value):
            self._count(value, 0)
            self._modules.append(value)
            for key, inner in self._items(value):
                self._flatten_item("", key, inner)
        elif isinstance(value, dict):
            self._sort(value, 0)
        elif isinstance(value, (list, tuple)) and any(isinstance(item, (dict, Opaque)) for item in value):
            self._sort({str(number): item for number, item in enumerate(value)}, 0)
        elif isinstance(value, Opaque) and (value.entries or value.attributes):
            self._sort(value.entries or value.attributes, 0)
        else:
            kind = str(value) if isinstance(value, Opaque) else type(value).__name__
            raise CheckpointError(
                f"holds a {shown(kind)} and not a dictionary of tensors: save it again with {SAVE_WEIGHTS}."
            )

    @staticmethod
    def _check_weight(what: str, tensor: PickledTensor) -> None:
        if tensor.storage.kind not in STORAGES:
            raise unread_tensor(what, tensor.storage.kind)
        check_dense(tensor, what)

    def _sort(self, values: dict[Any, Any], depth: int) -> None:
        """Pick the model's tensors out of a trainer's dictionary, descending to where the weights are."""
        counts = {key: self._count(value, depth + 1) for key, value in values.items()}
        possible = {
            key: value
            for key, value in values.items()
            if counts[key] and isinstance(key, str) and (isinstance(value, dict) or is_module(value))
            if not _is_optimizer(value) and not self._is_not_weights(key, value)
        }
        is_state_dict = any(isinstance(value, PickledTensor) for value in values.values())
        home = find_home(possible, self._wanted, self._limits, is_state_dict=is_state_dict)
        for key, value in values.items():
            if home is not None and key == home.key:
                continue
            is_weights = home is None or (key == _SAVED_APART and isinstance(value, dict))
            if is_weights and counts[key] and not self._stays_out(key, value):
                self._flatten_item("", key, value)
            else:
                self._leave_out(str(key), value, counts[key])
        if home is not None:
            self._go_home(home, values[home.key], depth)

    def _go_home(self, home: Home, value: Any, depth: int) -> None:
        self.choices = self.choices or home.choices
        if is_module(value):
            self._take(value)
        else:
            self._sort(value, depth + 1)

    def _stays_out(self, key: Any, value: Any) -> bool:
        """True if an entry of a dictionary with weights is not a weight itself."""
        if isinstance(value, PickledTensor) or _wraps_tensor(value):
            return self._is_not_weights(key, value)
        averaged = isinstance(key, str) and "." not in key and is_averaged(key)
        return averaged or _is_object(value) or self._is_not_weights(key, value)

    @staticmethod
    def _is_not_weights(key: Any, value: Any) -> bool:
        # A tensor in a state dict is a weight, whatever its name begins with, unless the name contains "rng".
        return (
            isinstance(key, str)
            and "." not in key
            and bool(_NOT_WEIGHTS.match(key))
            and ("rng" in key.lower() or not isinstance(value, PickledTensor))
        )

    def _leave_out(self, key: str, value: Any, n_tensors: int) -> None:
        if n_tensors:
            self.left_out[key] = self.left_out.get(key, 0) + n_tensors
        if not isinstance(value, PickledTensor):
            plain = self._plain.of(value)
            if plain is not NOTHING:
                self.extras[key] = plain
            elif isinstance(value, Opaque) and not self._objects:
                self._objects = (f"{shown(key)} ({shown(value.name)})",)

    def _flatten(self, name: str, value: Any) -> None:
        """Name the tensors in nested dictionaries, lists and modules, but not in optimizers and objects."""
        if isinstance(value, PickledTensor):
            check_name(name, self._limits)
            if name in self.tensors:
                raise CheckpointError(f"has two tensors with the name {shown(name)}: rename one of them.")
            self.tensors[name] = value
            check_count(len(self.tensors), self._limits)
            return
        if _wraps_tensor(value):
            check_name(name, self._limits)
            self._unread[name] = str(value)
            check_count(len(self._unread), self._limits)
            return
        if _is_object(value) or _is_optimizer(value):
            self._n_characters += len(name)  # many objects may share a long path; each is listed with it
            self._leave_out(name, value, self._count(value, 0))
            return
        if len(name) > self._limits.max_name_length:
            check_name(name, self._limits)
        if is_module(value):
            self._modules.append(value)
        for key, inner in self._items(value):
            self._flatten_item(f"{name}.", key, inner)

    def _flatten_item(self, prefix: str, key: Any, value: Any) -> None:
        if not isinstance(key, Opaque):
            self._flatten(f"{prefix}{key}", value)
        elif self._count(value, 0):
            raise CheckpointError(
                "has tensors in a dictionary whose keys are more than words and numbers: save it again with "
                f"{SAVE_WEIGHTS}."
            )

    def _items(self, value: Any) -> list[tuple[Any, Any]]:
        if not is_module(value):
            return items_of(value)
        self._n_values += _MODULE_COST + sum(map(len, contents_of(value)))
        return list(module_items(value))

    def _count(self, value: Any, depth: int) -> int:
        """Count the tensors in a value, and check its nesting and size.

        Nesting inside objects is not limited, since they are left out anyway.
        """
        self._n_values += 1
        if isinstance(value, PickledTensor | OpaqueTensor):
            return 1
        if _is_object(value):
            return self._count_inside(value)
        items = self._items(value)
        self._n_characters += len(value) if isinstance(value, str) else 0
        self._n_characters += sum(len(key) for key, _ in items if isinstance(key, (str, bytes)))
        if depth > MAX_DEPTH or self._n_values > MAX_VALUES or self._n_characters > MAX_CHARACTERS:
            raise CheckpointError(
                f"is nested more than {MAX_DEPTH} deep, or has more than {MAX_VALUES:,} values or "
                f"{MAX_CHARACTERS:,} characters in addition to its tensors: save it with {SAVE_WEIGHTS}."
            )
        return sum(self._count(inner, depth + 1) for _, inner in items)

    def _count_inside(self, found: Opaque) -> int:
        """Count the tensors in an object, except values already counted in another one."""
        if id(found) in self._inside:
            return self._inside[id(found)]
        n_tensors = 0
        pending: list[Any] = [found]
        while pending:
            value = pending.pop()
            if (
                not isinstance(value, (Opaque, dict, list, tuple, set, PickledTensor))
                or id(value) in self._seen
            ):
                continue
            self._seen.add(id(value))
            if isinstance(value, PickledTensor | OpaqueTensor):
                n_tensors += 1
            elif isinstance(value, Opaque):
                pending.extend(value.parts)
            else:
                pending.extend(value.values() if isinstance(value, dict) else value)
        self._inside[id(found)] = n_tensors
        return n_tensors


def _is_optimizer(value: Any) -> bool:
    """True if the value is an optimizer's state_dict, under any key."""
    return isinstance(value, dict) and "state" in value and isinstance(value.get("param_groups"), list)


def _is_object(value: Any) -> bool:
    """True for an opaque object that is neither a tensor nor a module."""
    return isinstance(value, Opaque) and not isinstance(value, OpaqueTensor) and not is_module(value)


def _wraps_tensor(value: Any) -> bool:
    """True for an unsupported kind of tensor, or an object made from a tensor or storage."""
    made_from = value.args[:_MOST_LOOKED_AT] if isinstance(value, Opaque) else ()
    return isinstance(value, OpaqueTensor) or any(
        isinstance(arg, PickledTensor | OpaqueTensor | Storage | StorageView) for arg in made_from
    )
