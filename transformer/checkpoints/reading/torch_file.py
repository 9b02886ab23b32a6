"""What torch.save writes: a zip archive with a pickle, data.pkl, and a file of numbers for each storage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from transformer.checkpoints._files import CheckpointError
from transformer.checkpoints.reading.found import Block, Found, Placed, check_count, check_name
from transformer.checkpoints.reading.limits import Limits
from transformer.checkpoints.reading.pickle_machine import read_pickle
from transformer.checkpoints.reading.pickle_values import SAVE_WEIGHTS, PickledTensor
from transformer.checkpoints.reading.raw import ITEM_BYTES
from transformer.checkpoints.reading.source import Source, shown
from transformer.checkpoints.reading.zip_file import Entry, read_entries

WRAPPERS = ("state_dict", "model_state_dict", "model_state", "model", "module", "net", "network", "weights")
"""Under which of its keys a trainer's file has the model's weights, the surest first."""

_DEEPEST = 32
_MOST_VALUES = 1_000_000


def read_torch(source: Source, limits: Limits) -> Found:
    """Read what torch.save wrote, and hold it to what weights need.

    Raises:
        CheckpointError: when anything in it is not as it must be.
    """
    entries = read_entries(source, limits)
    root = _root(entries)
    _check_byte_order(entries.get(f"{root}/byteorder"), source)
    pickle = entries[f"{root}/data.pkl"]
    if pickle.n_bytes > limits.max_header_bytes:
        raise CheckpointError(
            f"has a pickle of {pickle.n_bytes:,} bytes, where {limits.max_header_bytes:,} are allowed: save "
            f"the weights alone with {SAVE_WEIGHTS}."
        )
    return _found(read_pickle(pickle.read(source), limits), entries, root, limits)


def _root(entries: Mapping[str, Entry]) -> str:
    """The folder of the archive that everything is in."""
    roots = [name.removesuffix("/data.pkl") for name in entries if name.endswith("/data.pkl")]
    if any(name.endswith("/constants.pkl") or "/code/" in name for name in entries):
        raise CheckpointError(
            "holds a TorchScript program; nothing of it was run. Save the weights alone: " + SAVE_WEIGHTS
        )
    if len(roots) != 1 or "/" in roots[0]:
        raise CheckpointError(
            "is a zip archive that torch.save did not write (no data.pkl in one folder): choose the file of "
            "weights, or unpack the archive and choose its folder."
        )
    return roots[0]


def _check_byte_order(entry: Entry | None, source: Source) -> None:
    if entry is not None and (entry.n_bytes > 8 or entry.read(source) != b"little"):
        raise CheckpointError("was saved on a machine of another byte order: save it again on this one.")


def _found(value: Any, entries: Mapping[str, Entry], root: str, limits: Limits) -> Found:
    if not isinstance(value, dict):
        raise CheckpointError(f"holds no dictionary of weights: save it again with {SAVE_WEIGHTS}.")
    budget = _Budget()
    wrapper = _wrapper(value)
    weights = value if wrapper is None else value[wrapper]
    around = {} if wrapper is None else {key: one for key, one in value.items() if key != wrapper}
    tensors: dict[str, Placed] = {}
    extras: dict[str, Any] = {}
    for name, leaf in _leaves(weights, "", budget, 0):
        if not isinstance(leaf, PickledTensor):
            extras[name] = _plain(leaf, budget, 0)
        elif name in tensors:
            raise CheckpointError(f"has the tensor {shown(name)} twice: save it again with {SAVE_WEIGHTS}.")
        else:
            check_name(name, limits)
            tensors[name] = _placed(leaf, entries, root)
            check_count(len(tensors), limits)
    if not tensors:
        raise CheckpointError(f"holds no tensors: save the weights with {SAVE_WEIGHTS}.")
    left_out = {}
    for key, one in around.items():
        if count := sum(isinstance(leaf, PickledTensor) for _, leaf in _leaves(one, "", budget, 0)):
            left_out[str(key)] = count
        else:
            extras[str(key)] = _plain(one, budget, 0)
    return Found(tensors, extras, left_out)


def _wrapper(value: Mapping[Any, Any]) -> str | None:
    """The key under which the weights are; None where they are the dictionary itself."""
    if any(isinstance(one, PickledTensor) for one in value.values()):
        return None
    return next((name for name in WRAPPERS if isinstance(value.get(name), dict) and value[name]), None)


class _Budget:
    """Ends the walk through values that contain each other over and over."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def spend(self, depth: int) -> None:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise CheckpointError(f"has values inside values without end: save it with {SAVE_WEIGHTS}.")


def _leaves(value: Any, name: str, budget: _Budget, depth: int) -> Iterator[tuple[str, Any]]:
    """All that is no dictionary (nor a list with tensors in it), with its keys joined by dots."""
    budget.spend(depth)
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _leaves(one, f"{name}.{key}" if name else str(key), budget, depth + 1)
    elif isinstance(value, list | tuple) and any(isinstance(one, dict | PickledTensor) for one in value):
        for index, one in enumerate(value):
            yield from _leaves(one, f"{name}.{index}" if name else str(index), budget, depth + 1)
    else:
        yield name, value


def _placed(tensor: PickledTensor, entries: Mapping[str, Entry], root: str) -> Placed:
    storage = tensor.storage
    entry = entries.get(f"{root}/data/{storage.key}")
    if entry is None:
        raise CheckpointError(f"lacks the numbers of storage {shown(storage.key)}: copy or save it again.")
    size = ITEM_BYTES[storage.dtype]
    if entry.n_bytes != storage.n_items * size:
        raise CheckpointError(
            f"has {entry.n_bytes:,} bytes in storage {shown(storage.key)}, where {storage.n_items * size:,} "
            "are due: copy or save it again."
        )
    block = Block(entry.offset, entry.n_bytes, storage.dtype, entry.crc)
    return Placed(block, tensor.start * size, tensor.shape)


def _plain(value: Any, budget: _Budget, depth: int) -> Any:
    """What JSON has: text, numbers, None, lists and dictionaries of them; anything else becomes None."""
    budget.spend(depth)
    if isinstance(value, dict):
        return {str(key): _plain(one, budget, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one, budget, depth + 1) for one in value]
    if type(value) is int and abs(value) >= 2**63:
        return None
    return value if value is None or type(value) in (str, int, float, bool) else None
