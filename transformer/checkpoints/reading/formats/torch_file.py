"""What torch.save writes since PyTorch 1.6: a zip with a pickle (data.pkl) and an entry for each storage.

A trainer saves more than the weights, dictionaries in dictionaries: the model's tensors are picked out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from transformer.checkpoints.reading.formats.pickle_machine import read_pickle
from transformer.checkpoints.reading.formats.pickle_values import (
    SAVE_WEIGHTS,
    PickledTensor,
    Storage,
    check_dense,
)
from transformer.checkpoints.reading.formats.zip_file import ZipEntry, read_entries
from transformer.checkpoints.reading.limits import Limits, check_count, check_name
from transformer.checkpoints.reading.raw import ITEM_BYTES, Block, TensorView, WeightsFile
from transformer.checkpoints.reading.regular_file import RegularFile
from transformer.errors import CheckpointError, shown

PICKLE, BYTE_ORDER = "data.pkl", "byteorder"
_AGAIN = f"save it again with {SAVE_WEIGHTS}"

WEIGHT_KEYS = ("state_dict", "model_state_dict", "model", "module", "net")
"""Where trainers keep the weights, the likeliest first."""

_NOT_WEIGHTS = re.compile(r"(optim|sched|lr_sched|scaler|amp$|callbacks$|loops$|ema)|rng", re.IGNORECASE)
"""What else of theirs holds tensors, when the weights are not under one key."""

MAX_DEPTH = 32
MAX_VALUES = 1_000_000
MAX_CHARACTERS = 16_000_000
"""What is met again is counted again: a few bytes of a pickle can refer to one text a million times."""

_MOST_SHARED = 4
"""Names for the same numbers: an embedding has as many in BART."""
_SHARED_BYTES = 2**28
"""Of all tensors, up to which any number of them may be the same."""


def read_torch(file: RegularFile, limits: Limits) -> WeightsFile:
    """Read the pickle of an archive of torch.save and find the bytes of its tensors.

    Raises:
        CheckpointError: when anything in it is not as torch.save writes a dictionary of dense tensors.
    """
    entries = _of_torch(read_entries(file, limits))
    pickle = entries[PICKLE]
    if pickle.n_bytes > limits.max_header_bytes:
        raise CheckpointError(
            f"has a pickle of {pickle.n_bytes:,} bytes, where {limits.max_header_bytes:,} may be: {_AGAIN}."
        )
    if BYTE_ORDER in entries:
        _check_byte_order(entries[BYTE_ORDER], file)
    saved = SavedWeights(read_pickle(pickle.read(file), limits), limits)
    blocks: dict[str, Block] = {}
    tensors = {}
    for name, tensor in saved.tensors.items():
        storage = tensor.storage
        if storage.key not in blocks:
            blocks[storage.key] = _block(storage, entries)
        start = tensor.start * ITEM_BYTES[storage.dtype]
        tensors[name] = TensorView(blocks[storage.key], start, tensor.shape)
    _check_sharing(tensors)
    return WeightsFile(file.path, "torch zip", tensors, saved.extras, saved.left_out)


def _of_torch(entries: Mapping[str, ZipEntry]) -> dict[str, ZipEntry]:
    """The entries by their names inside the one folder that an archive of torch.save has."""
    folders = {name.partition("/")[0] for name in entries if "/" in name}
    folder = next(iter(folders), "")
    inner = {name.removeprefix(f"{folder}/"): entry for name, entry in entries.items()}
    if len(folders) != 1 or len(inner) != len(entries) or PICKLE not in inner:
        raise CheckpointError(f"is a zip archive that torch.save did not write: unpack it, or {_AGAIN}.")
    return inner


def _check_byte_order(entry: ZipEntry, file: RegularFile) -> None:
    if entry.n_bytes > len("little") or entry.read(file) != b"little":
        raise CheckpointError(f"has numbers in another byte order than little-endian: {_AGAIN} on a PC.")


def _block(storage: Storage, entries: Mapping[str, ZipEntry]) -> Block:
    entry = entries.get(f"data/{storage.key}")
    if entry is None:
        raise CheckpointError(
            f"lacks the numbers of storage {shown(storage.key)}: copy or download it again."
        )
    due = storage.n_items * ITEM_BYTES[storage.dtype]
    if due != entry.n_bytes:
        raise CheckpointError(
            f"says that storage {shown(storage.key)} has {due:,} bytes and has {entry.n_bytes:,}: copy or "
            "save it again."
        )
    return Block(entry.offset, entry.n_bytes, storage.dtype, entry.crc)


def _check_sharing(tensors: Mapping[str, TensorView]) -> None:
    """Refuse a file that grows without bounds when each of its tensors gets numbers of its own.

    Embeddings and generator are often one; whole layers that are shared are found in small models.
    """
    stored = sum({view.block.offset: view.block.n_bytes for view in tensors.values()}.values())
    named = sum(view.n_bytes for view in tensors.values())
    if named > max(_MOST_SHARED * stored, _SHARED_BYTES):
        raise CheckpointError(
            f"has tensors of {named:,} bytes that share {stored:,} bytes of numbers: save it again with each "
            "shared tensor under one name."
        )


class SavedWeights:
    """The model's tensors in what a trainer saved, told from the rest.

    Attributes:
        tensors: the model's, by name; names of nested dictionaries are joined by dots.
        extras: plain values beside them: text, numbers, None; sets and tuples have become lists.
        left_out: top-level key, or the path of an optimizer -> how many tensors under it are not the model's.
    """

    def __init__(self, value: Any, limits: Limits) -> None:
        """Sort what a pickle holds.

        Raises:
            CheckpointError: when it has no named tensors, or is nested without end.
        """
        self.tensors: dict[str, PickledTensor] = {}
        self.extras: dict[str, Any] = {}
        self.left_out: dict[str, int] = {}
        self._limits = limits
        self._n_values = 0
        self._n_characters = 0
        if isinstance(value, PickledTensor):
            raise CheckpointError(f"holds one tensor without a name: save it again with {SAVE_WEIGHTS}.")
        if not isinstance(value, dict):
            raise CheckpointError(
                f"holds a {type(value).__name__} and not a dictionary of tensors: save it again with "
                f"{SAVE_WEIGHTS}."
            )
        self._sort(value, 0)
        if not self.tensors:
            others = ", ".join(map(shown, [*self.left_out, *self.extras][:5])) or "nothing"
            raise CheckpointError(f"holds no weights, only {others}: save it again with {SAVE_WEIGHTS}.")

    def _sort(self, values: dict[Any, Any], depth: int) -> None:
        """Take the model's tensors out of a trainer's dictionary, and go into the one that holds them."""
        counts = {key: self._count(value, depth + 1) for key, value in values.items()}
        home = next((key for key in WEIGHT_KEYS if counts.get(key) and isinstance(values[key], dict)), None)
        for key, value in values.items():
            if key == home:
                continue
            if home is None and counts[key] and not self._is_not_weights(key, value):
                self._flatten(str(key), value)
            else:
                self._leave_out(str(key), value, counts[key])
        if home is not None:
            self._sort(values[home], depth + 1)

    @staticmethod
    def _is_not_weights(key: Any, value: Any) -> bool:
        # A tensor among the tensors of a state dict is a weight, whatever its name begins with.
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
            plain = _plain(value)
            if plain is not _NOTHING:
                self.extras[key] = plain

    def _flatten(self, name: str, value: Any) -> None:
        """Name the tensors in nested dictionaries and lists as modules name theirs; optimizers' stay out."""
        if _is_optimizer(value):
            self._n_characters += len(name)  # a long path may lead to many, and each is written down
            self._leave_out(name, value, self._count(value, 0))
            return
        if isinstance(value, PickledTensor):
            check_name(name, self._limits)
            if name in self.tensors:
                raise CheckpointError(f"has two tensors with the name {shown(name)}: rename one of them.")
            check_dense(value, f"the tensor {shown(name)}")
            self.tensors[name] = value
            check_count(len(self.tensors), self._limits)
            return
        if len(name) > self._limits.max_name_length:
            check_name(name, self._limits)
        for key, inner in _items(value):
            self._flatten(f"{name}.{key}", inner)

    def _count(self, value: Any, depth: int) -> int:
        """Count the tensors in a value, and hold its nesting and size to their limits."""
        self._n_values += 1
        if isinstance(value, PickledTensor):
            return 1
        items = _items(value)
        self._n_characters += len(value) if isinstance(value, str) else 0
        self._n_characters += sum(len(key) for key, _ in items if isinstance(key, (str, bytes)))
        if depth > MAX_DEPTH or self._n_values > MAX_VALUES or self._n_characters > MAX_CHARACTERS:
            raise CheckpointError(
                f"is nested more than {MAX_DEPTH} deep, or has more than {MAX_VALUES:,} values or "
                f"{MAX_CHARACTERS:,} characters beside its tensors: save it with {SAVE_WEIGHTS}."
            )
        return sum(self._count(inner, depth + 1) for _, inner in items)


_NOTHING = object()


def _is_optimizer(value: Any) -> bool:
    """Whether it is what `state_dict` of torch's optimizers gives, whatever people call it."""
    return isinstance(value, dict) and "state" in value and isinstance(value.get("param_groups"), list)


def _items(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, (list, tuple, set)):
        return list(enumerate(value))
    return []


def _plain(value: Any) -> Any:
    """A value as JSON has it, without tensors, bytes and names of storages."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    inner = [(key, plain) for key, item in _items(value) if (plain := _plain(item)) is not _NOTHING]
    if isinstance(value, dict):
        return {str(key): plain for key, plain in inner}
    if isinstance(value, (list, tuple, set)):
        return [plain for _, plain in inner]
    return _NOTHING
