"""What the pickles of checkpoints are made of, as plain values: a global is a name, never called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transformer.checkpoints.reading.limits import Limits, check_not_empty, check_shape
from transformer.errors import CheckpointError, shown

SAVE_WEIGHTS = "torch.save(model.state_dict(), 'weights.pt')"
_LARGEST_KEY = 2**60
_LONGEST_KEY = 80
"""Characters that name a storage; torch counts them, and they are compared each time that one is met."""
_DAMAGED = "has a pickle that torch.save would not write: save it again with " + SAVE_WEIGHTS + "."

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
"""torch's names of the storages that are read, and the numbers in them."""


@dataclass(frozen=True)
class Global:
    """The name of something in Python; never looked up."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True)
class Storage:
    """The numbers of one or more tensors: an entry of the archive."""

    key: str
    dtype: str
    n_items: int


@dataclass(frozen=True)
class PickledTensor:
    """Numbers of a storage from `start` on; a weight's are row-major and without gaps (see `check_dense`)."""

    storage: Storage
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Ordered(dict[Any, Any]):
    """An OrderedDict: the one dictionary that may be given attributes, which are left out."""


def as_global(module: str, name: str) -> Global:
    """The global of that name if it is one that checkpoints need.

    Raises:
        CheckpointError: says what it was and how to save the file again.
    """
    found = Global(module, name)
    if str(found) not in _CALLED and not (module == "torch" and name in STORAGES):
        raise CheckpointError(_refusal(found))
    return found


def call(called: Any, args: Any, limits: Limits) -> Any:
    """What calling one of the known globals would give, as a plain value.

    Raises:
        CheckpointError: for anything else.
    """
    if not isinstance(called, Global) or not isinstance(args, tuple) or str(called) not in _CALLED:
        raise CheckpointError(_DAMAGED)
    return _CALLED[str(called)](args, limits)


def as_storage(reference: Any) -> Storage:
    """A storage as torch refers to it: ("storage", its type, key, location, number of items).

    Raises:
        CheckpointError: for anything else.
    """
    if not isinstance(reference, tuple) or len(reference) != 5:
        raise CheckpointError(_DAMAGED)
    word, kind, key, location, n_items = reference
    if word != "storage" or not isinstance(kind, Global) or kind.name not in STORAGES:
        raise CheckpointError(_DAMAGED)
    if not isinstance(key, str) or not isinstance(location, str) or not _is_count(n_items):
        raise CheckpointError(_DAMAGED)
    if len(key) > _LONGEST_KEY:
        raise CheckpointError(_DAMAGED)
    if location == "meta":
        raise CheckpointError(
            "holds meta tensors, which have shapes and no numbers: load the weights into the model, then "
            "save it again."
        )
    return Storage(key, STORAGES[kind.name], n_items)


def _ordered(args: tuple[Any, ...], _: Limits) -> Ordered:
    if args:
        raise CheckpointError(_DAMAGED)
    return Ordered()


def _tensor(args: tuple[Any, ...], limits: Limits) -> PickledTensor:
    """As torch._utils._rebuild_tensor_v2: storage, offset, size, stride, requires_grad, hooks, metadata."""
    if len(args) not in (6, 7):
        raise CheckpointError(_DAMAGED)
    storage, start, shape, strides, requires_grad, hooks = args[:6]
    if not isinstance(storage, Storage) or not isinstance(requires_grad, bool):
        raise CheckpointError(_DAMAGED)
    if not all(
        isinstance(sizes, tuple) and all(type(size) is int for size in sizes) for sizes in (shape, strides)
    ):
        raise CheckpointError(_DAMAGED)
    _check_no_hooks(hooks)
    if args[6:] not in ((), (None,), ({},)):
        raise CheckpointError(
            "has a tensor that is a conjugate or a negative view: save it again after .resolve_conj() and "
            ".resolve_neg()."
        )
    what = f"a tensor in storage {shown(storage.key)}"
    check_shape(shape, limits, what)
    if len(strides) != len(shape):
        raise CheckpointError(_DAMAGED)
    if any(stride < 0 for stride in strides):
        raise CheckpointError(f"gives {what} a negative stride: save it again with {SAVE_WEIGHTS}.")
    if not _is_count(start) or start + _extent(shape, strides) > storage.n_items:
        raise CheckpointError(f"has {what} that lies outside of it: copy or save it again.")
    return PickledTensor(storage, start, shape, strides)


def _extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """How many numbers there are from a tensor's first to its last in the storage, both counted."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def check_dense(tensor: PickledTensor, what: str) -> None:
    """Refuse a weight that holds nothing, or whose numbers do not lie row-major and without gaps.

    Optimizers and callbacks may keep such tensors: they are left out, so they are no reason to refuse a file.

    Raises:
        CheckpointError: says why, with `what` in the place of the tensor.
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


def _parameter(args: tuple[Any, ...], _: Limits) -> PickledTensor:
    """As torch._utils._rebuild_parameter: data, requires_grad, hooks."""
    if len(args) != 3 or not isinstance(args[0], PickledTensor) or not isinstance(args[1], bool):
        raise CheckpointError(_DAMAGED)
    _check_no_hooks(args[2])
    return args[0]


def _check_no_hooks(hooks: Any) -> None:
    if type(hooks) is not Ordered or hooks:
        raise CheckpointError(
            "has a tensor with hooks, which are code: save it again with " + SAVE_WEIGHTS + "."
        )


def _size(args: tuple[Any, ...], _: Limits) -> tuple[int, ...]:
    if len(args) != 1 or not isinstance(args[0], tuple) or not all(type(size) is int for size in args[0]):
        raise CheckpointError(_DAMAGED)
    return args[0]


def _set(args: tuple[Any, ...], _: Limits) -> set[Any]:
    if len(args) > 1 or (args and type(args[0]) is not list):
        raise CheckpointError(_DAMAGED)
    members: set[Any] = set()
    add_to(members, args[0] if args else [])
    return members


def _encoded(args: tuple[Any, ...], _: Limits) -> bytes:
    """Bytes as pickle's protocol 2 writes them: text whose characters stand for one byte each."""
    if len(args) != 2 or not isinstance(args[0], str) or args[1] != "latin1":
        raise CheckpointError(_DAMAGED)
    try:
        return args[0].encode("latin1")
    except UnicodeEncodeError as error:
        raise CheckpointError(_DAMAGED) from error


def _no_bytes(args: tuple[Any, ...], _: Limits) -> bytes:
    if args:
        raise CheckpointError(_DAMAGED)
    return b""


def check_key(key: Any) -> None:
    """Refuse keys of dictionaries and members of sets that are more than one word or number.

    A tuple is no key: the time that its hash takes can grow without bounds. Nor is a huge whole number:
    many of them can be made to have one hash.

    Raises:
        CheckpointError: for anything else.
    """
    is_huge = type(key) is int and abs(key) >= _LARGEST_KEY
    if is_huge or (key is not None and type(key) not in (str, int, float, bool, bytes)):
        raise CheckpointError(
            "has a dictionary or set whose keys are more than words and numbers: save it again with "
            f"{SAVE_WEIGHTS}."
        )


def add_to(members: set[Any], items: list[Any]) -> None:
    """Add items to a set; one that is there already is refused, for no set is saved so.

    Comparing the same two long texts again and again could take for ever.

    Raises:
        CheckpointError: for that, and for what may be no key.
    """
    for item in items:
        check_key(item)
        if item in members:
            raise CheckpointError(_DAMAGED)
        members.add(item)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


_CALLED: dict[str, Callable[[tuple[Any, ...], Limits], Any]] = {
    "collections.OrderedDict": _ordered,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch.Size": _size,
    "builtins.set": _set,
    "__builtin__.set": _set,
    "builtins.frozenset": _set,
    "__builtin__.frozenset": _set,
    "_codecs.encode": _encoded,
    "__builtin__.bytes": _no_bytes,
}


def _refusal(found: Global) -> str:
    """Why a global is not read, and how to do without it."""
    name = shown(str(found))
    for part, reason in _KNOWN:
        if str(found).startswith(part):
            return (
                f"{reason} ({name}); nothing of it was run. Where it was made, save it again: {SAVE_WEIGHTS}."
            )
    if found.module == "torch" and found.name.endswith("Storage"):
        return (
            f"has numbers of a kind that is not read ({name}): save it again without them, or after "
            "model.float()."
        )
    return (
        f"names {name}, which is code to be run or an object of a library, and no weights; nothing of it was "
        f"run. Where it was made, save the weights alone: {SAVE_WEIGHTS}."
    )


_KNOWN = (
    ("torch.nn.", "holds a whole module and not its weights"),
    ("torch.jit", "holds a TorchScript program"),
    ("__torch__", "holds a TorchScript program"),
    ("torch.fx", "holds a traced program"),
    ("torch._utils._rebuild_sparse", "holds sparse tensors: call .to_dense() on them first"),
    ("torch._utils._rebuild_qtensor", "holds quantized tensors: call .dequantize() on them first"),
    ("torch.QInt", "holds quantized tensors: call .dequantize() on them first"),
    ("torch.QUInt", "holds quantized tensors: call .dequantize() on them first"),
    ("torch._utils._rebuild_nested", "holds nested tensors: take them apart first"),
    ("torch._utils._rebuild_meta", "holds meta tensors, which have shapes and no numbers"),
    ("torch._utils._rebuild_parameter_with_state", "holds parameters with attributes of their own"),
    ("torch._tensor._rebuild_from_type", "holds tensors of a class of their own, or with attributes"),
    ("torch._utils._rebuild_wrapper_subclass", "holds tensors of a class of their own"),
    ("numpy", "holds NumPy values: turn them into numbers with .item() or .tolist(), or into tensors, first"),
)
"""How the names of globals begin that people's checkpoints hold, and what the file is then."""
