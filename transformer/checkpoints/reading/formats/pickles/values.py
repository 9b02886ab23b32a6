"""The values in a checkpoint's pickles: a global is a name, an object is opaque."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from transformer.checkpoints.reading.limits import check_not_empty
from transformer.errors import CheckpointError, shown

SAVE_WEIGHTS = "torch.save(model.state_dict(), 'weights.pt')"
_LARGEST_KEY = 2**60

STORAGES = {
    "DoubleStorage": "F64",
    "FloatStorage": "F32",
    "HalfStorage": "F16",
    "BFloat16Storage": "BF16",
    "LongStorage": "I64",
    "IntStorage": "I32",
    "ByteStorage": "U8",
    "BoolStorage": "BOOL",
}
"""torch's names of the supported storages -> the dtype of their items."""

UNREAD_STORAGES = {
    "CharStorage": 1,
    "ShortStorage": 2,
    "ComplexFloatStorage": 8,
    "ComplexDoubleStorage": 16,
    "QInt8Storage": 1,
    "QUInt8Storage": 1,
    "QInt32Storage": 4,
    "QUInt4x2Storage": 1,
    "QUInt2x4Storage": 1,
    "UntypedStorage": 1,
}
"""Unsupported storages, which may be saved along with the weights -> bytes per item."""


@dataclass(frozen=True)
class Global:
    """The name of a Python function or class, which is never looked up."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True)
class Storage:
    """The data of one or more tensors.

    Attributes:
        key: its name in the file.
        kind: a key of STORAGES or of UNREAD_STORAGES.
        n_items: total number of items.
    """

    key: str
    kind: str
    n_items: int


@dataclass(frozen=True)
class StorageView:
    """Part of a storage, which files from before PyTorch 0.4 may have."""

    storage: Storage
    first: int
    n_items: int


@dataclass(frozen=True)
class PickledTensor:
    """Items of a storage from `start` on; weights must be row-major and contiguous (see `check_dense`)."""

    storage: Storage
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Ordered(dict[Any, Any]):
    """An OrderedDict or similar: the only dictionary that may have attributes, which are ignored."""


class Opaque:
    """An object of any other class: nothing is imported, looked up or called for it.

    Each instance equals only itself, so it can be a key without its content being read.

    Attributes:
        name: the class or function that makes the object.
        args: its arguments.
        state: the state that the object would be given afterwards, or None.
        entries: its entries if it is a dictionary.
        members: its items if it is a list or set.
    """

    __slots__ = ("args", "entries", "members", "name", "state")

    def __init__(self, name: str, args: tuple[Any, ...] = ()) -> None:
        self.name = name
        self.args = args
        self.state: Any = None
        self.entries: dict[Any, Any] = {}
        self.members: list[Any] = []

    def __str__(self) -> str:
        return self.name

    @property
    def attributes(self) -> dict[Any, Any]:
        """The object's attributes; those in slots if there are no others."""
        is_split = isinstance(self.state, tuple) and len(self.state) == 2
        states = self.state if is_split else (self.state,)
        return next((state for state in states if isinstance(state, dict) and state), {})

    @property
    def parts(self) -> Iterator[Any]:
        """All values that the object was made from."""
        yield from self.args
        yield self.state
        yield self.entries
        yield self.members


class OpaqueTensor(Opaque):
    """A tensor that is not a plain dense array (a subclass, sparse, quantised); `name` says which."""

    __slots__ = ()


def damaged() -> NoReturn:
    """Refuse something that torch.save does not write.

    Raises:
        CheckpointError: always.
    """
    raise CheckpointError(f"has a pickle that torch.save would not write: save it again with {SAVE_WEIGHTS}.")


def check_dense(tensor: PickledTensor, what: str) -> None:
    """Refuse a weight that is empty, or not row-major and contiguous.

    Optimizers and callbacks may have such tensors: they are left out, so the file is not refused.

    Raises:
        CheckpointError: says why, calling the tensor `what`.
    """
    check_not_empty(tensor.shape, what)
    expected = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.strides), strict=True):
        if size == 1:
            continue
        if stride == 0:
            raise CheckpointError(
                f"has {what}, which is expanded, one number standing for many (stride 0): call .contiguous() "
                "on it and save it again."
            )
        if stride != expected:
            raise CheckpointError(
                f"has {what}, which is a transposed or otherwise strided view: save it again with torch.save("
                "{name: tensor.contiguous() for name, tensor in model.state_dict().items()}, 'weights.pt')."
            )
        expected *= size


def as_key(key: Any) -> Any:
    """A dictionary key or set member: itself, or an opaque object in its place.

    Tuples are replaced because hashing one can take arbitrarily long, huge integers because many can share a
    hash.
    """
    is_huge = type(key) is int and abs(key) >= _LARGEST_KEY
    if isinstance(key, Opaque) or (
        not is_huge and (key is None or type(key) in (str, int, float, bool, bytes))
    ):
        return key
    return Opaque(str(key) if isinstance(key, Global) else type(key).__name__, (key,))


def add_to(members: set[Any], items: list[Any]) -> set[Any]:
    """Add items to a set, return it, and refuse duplicates, which no saved set has.

    Otherwise comparing the same two long texts again and again could take forever.

    Raises:
        CheckpointError: when an item is a duplicate.
    """
    for item in map(as_key, items):
        if item in members:
            damaged()
        members.add(item)
    return members


def key_twice(key: Any) -> NoReturn:
    """Refuse a dictionary with a duplicate key.

    Raises:
        CheckpointError: always.
    """
    raise CheckpointError(
        f"has the key {shown(key)} twice in a dictionary: save it again with {SAVE_WEIGHTS}."
    )
