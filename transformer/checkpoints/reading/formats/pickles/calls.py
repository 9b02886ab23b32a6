"""Results of the calls in a pickle: plain values for known functions, opaque objects for all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformer.checkpoints.reading.formats.pickles.globals import unread_tensor
from transformer.checkpoints.reading.formats.pickles.values import (
    SAVE_WEIGHTS,
    STORAGES,
    UNREAD_STORAGES,
    Global,
    Opaque,
    OpaqueTensor,
    Ordered,
    PickledTensor,
    Storage,
    StorageView,
    add_to,
    as_key,
    damaged,
    key_twice,
)
from transformer.checkpoints.reading.limits import Limits, check_shape
from transformer.errors import CheckpointError, shown

_LONGEST_KEY = 80
"""Longest storage key: torch uses numbers, and keys are compared at each use."""
_PLAIN_TENSORS = ("torch.Tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter")
_MAKE_TENSORS = ("torch._utils._rebuild", "torch._tensor._rebuild")
_MAKE_OBJECTS = (
    "copyreg._reconstructor",
    "copy_reg._reconstructor",
    "copyreg.__newobj__",
    "copy_reg.__newobj__",
)
"""Functions that take an object's class; the first two also take its base class and that base's content."""


def is_known(called: Any) -> bool:
    """True if the call returns a plain value, so that its arguments are read."""
    return isinstance(called, Global) and str(called) in _CALLED


def call(called: Any, args: Any, limits: Limits) -> Any:
    """The result that a call would have; nothing is called.

    Raises:
        CheckpointError: when a known function has invalid arguments, or something other than a function or
            class is called.
    """
    if not isinstance(args, tuple) or not isinstance(called, Global | Opaque):
        damaged()
    name = str(called)
    if isinstance(called, Global) and name in _CALLED:
        return _CALLED[name](args, limits)
    if isinstance(called, Global) and name.startswith(_MAKE_TENSORS):
        return OpaqueTensor(name, args)
    if name in _MAKE_OBJECTS and args and isinstance(args[0], Global):
        made = Opaque(str(args[0]), args[1:])
        if name.endswith("_reconstructor") and len(args) == 3 and type(args[2]) is dict:
            made.entries = args[2]
        return made
    return Opaque(name, args)


def as_reference(reference: Any) -> Storage | StorageView | Global:
    """Resolve a torch persistent id: a storage, a view of one, or the class of a module.

    The id is ("storage", type, key, location, number of items), before PyTorch 1.6 followed by a view; files
    from before 1.6 also have ("module", class, file, source).

    Raises:
        CheckpointError: for anything else.
    """
    if not isinstance(reference, tuple) or len(reference) not in (4, 5, 6):
        damaged()
    if reference[0] == "module" and len(reference) == 4 and isinstance(reference[1], Global):
        return reference[1]
    if reference[0] != "storage" or len(reference) == 4:
        damaged()
    _, kind, key, location, n_items, *view = reference
    if isinstance(kind, Opaque):
        raise unread_tensor("a tensor's storage", str(kind))
    if not isinstance(kind, Global) or not (kind.name in STORAGES or kind.name in UNREAD_STORAGES):
        damaged()
    if not isinstance(key, str) or not isinstance(location, str) or not _is_count(n_items):
        damaged()
    if len(key) > _LONGEST_KEY:
        damaged()
    if location == "meta":
        raise CheckpointError(
            "holds meta tensors, which have shapes and no numbers: load the weights into the model, then "
            "save it again."
        )
    storage = Storage(key, kind.name, n_items)
    return storage if view in ([], [None]) else _view(storage, view[0])


def _view(storage: Storage, view: Any) -> StorageView:
    """A view of a storage: (the view's key, first item, number of items)."""
    if not isinstance(view, tuple) or len(view) != 3:
        damaged()
    _, first, n_items = view
    if not _is_count(first) or not _is_count(n_items) or first + n_items > storage.n_items:
        raise CheckpointError(
            f"has a view of storage {shown(storage.key)} that lies outside of it: copy or save it again."
        )
    return StorageView(storage, first, n_items)


def _ordered(args: tuple[Any, ...], _: Limits) -> Ordered:
    """OrderedDict: without arguments, or from pairs, as Python 2 pickled it."""
    found = Ordered()
    pairs = args[0] if len(args) == 1 else []
    if len(args) > 1 or type(pairs) is not list:
        damaged()
    for pair in pairs:
        if type(pair) not in (list, tuple) or len(pair) != 2:
            damaged()
        key = as_key(pair[0])
        if key in found:
            key_twice(key)
        found[key] = pair[1]
    return found


def _counter(args: tuple[Any, ...], _: Limits) -> dict[Any, Any]:
    if len(args) > 1 or (args and type(args[0]) is not dict):
        damaged()
    return args[0] if args else Ordered()


def _tensor(args: tuple[Any, ...], limits: Limits) -> PickledTensor:
    """torch._utils._rebuild_tensor_v2: storage, offset, size, stride, requires_grad, hooks, metadata."""
    if len(args) not in (6, 7):
        damaged()
    _check_no_hooks(args[5])
    if not isinstance(args[4], bool):
        damaged()
    if args[6:] not in ((), (None,), ({},)):
        raise CheckpointError(
            "has a tensor that is a conjugate or a negative view: save it again after .resolve_conj() and "
            ".resolve_neg()."
        )
    return _old_tensor(args[:4], limits)


def _old_tensor(args: tuple[Any, ...], limits: Limits) -> PickledTensor:
    """torch._utils._rebuild_tensor: storage, offset, size, stride."""
    for arg in args:
        for part in arg if isinstance(arg, tuple) else (arg,):
            if isinstance(part, Opaque):
                raise unread_tensor("a tensor's storage, size or stride", str(part))
    if len(args) != 4:
        damaged()
    of, start, shape, strides = args
    if not isinstance(of, Storage | StorageView):
        damaged()
    view = of if isinstance(of, StorageView) else StorageView(of, 0, of.n_items)
    if not all(
        isinstance(sizes, tuple) and all(type(size) is int for size in sizes) for sizes in (shape, strides)
    ):
        damaged()
    what = f"a tensor in storage {shown(view.storage.key)}"
    check_shape(shape, limits, what)
    if len(strides) != len(shape):
        damaged()
    if any(stride < 0 for stride in strides):
        raise CheckpointError(f"gives {what} a negative stride: save it again with {SAVE_WEIGHTS}.")
    if not _is_count(start) or start + _extent(shape, strides) > view.n_items:
        raise CheckpointError(f"has {what} that lies outside of it: copy or save it again.")
    return PickledTensor(view.storage, view.first + start, shape, strides)


def _extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Number of storage items from a tensor's first element to its last, inclusive."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def _of_type(args: tuple[Any, ...], limits: Limits) -> Any:
    """torch._tensor._rebuild_from_type_v2: function, type, arguments, attributes (ignored)."""
    if len(args) not in (3, 4) or not isinstance(args[1], Global) or not isinstance(args[2], tuple):
        damaged()
    if str(args[1]) in _PLAIN_TENSORS and args[0] in _TENSOR_MAKERS:
        return call(args[0], args[2], limits)
    return OpaqueTensor(str(args[1]), args)


def _named_by(at: int, otherwise: str) -> Callable[[tuple[Any, ...], Limits], OpaqueTensor]:
    """An unsupported tensor, named by its argument number `at` if that is a class or dtype."""

    def made(args: tuple[Any, ...], _: Limits) -> OpaqueTensor:
        kind = args[at] if len(args) > at else None
        return OpaqueTensor(str(kind) if isinstance(kind, Global) else otherwise, args)

    return made


def _parameter(args: tuple[Any, ...], _: Limits) -> PickledTensor | OpaqueTensor:
    """torch._utils._rebuild_parameter: data, requires_grad, hooks; and perhaps a state, which is ignored."""
    if len(args) not in (2, 3, 4) or not isinstance(args[1], bool):
        damaged()
    if isinstance(args[0], Opaque) and not isinstance(args[0], OpaqueTensor):
        return OpaqueTensor(str(args[0]), args)
    if not isinstance(args[0], PickledTensor | OpaqueTensor):
        damaged()
    if len(args) > 2:
        _check_no_hooks(args[2])
    return args[0]


def _check_no_hooks(hooks: Any) -> None:
    if type(hooks) is not Ordered or hooks:
        raise CheckpointError(
            "has a tensor with hooks, which are code: save it again with " + SAVE_WEIGHTS + "."
        )


def _size(args: tuple[Any, ...], _: Limits) -> tuple[int, ...]:
    if len(args) != 1 or not isinstance(args[0], tuple) or not all(type(size) is int for size in args[0]):
        damaged()
    return args[0]


def _set(args: tuple[Any, ...], _: Limits) -> set[Any]:
    if len(args) > 1 or (args and type(args[0]) is not list):
        damaged()
    return add_to(set(), args[0] if args else [])


def _encoded(args: tuple[Any, ...], _: Limits) -> bytes:
    """Bytes as pickle protocol 2 writes them: text with one character per byte."""
    if len(args) != 2 or not isinstance(args[0], str) or args[1] != "latin1":
        damaged()
    try:
        return args[0].encode("latin1")
    except UnicodeEncodeError:
        damaged()


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


_CALLED: dict[str, Callable[[tuple[Any, ...], Limits], Any]] = {
    "collections.OrderedDict": _ordered,
    "collections.defaultdict": lambda *_: Ordered(),  # without its default factory
    "collections.Counter": _counter,
    "torch._utils._rebuild_tensor": _old_tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _named_by(6, "torch._utils._rebuild_tensor_v3"),
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch.nn.parameter.Parameter": _parameter,
    "torch._tensor._rebuild_from_type": _of_type,
    "torch._tensor._rebuild_from_type_v2": _of_type,
    "torch._utils._rebuild_wrapper_subclass": _named_by(0, "torch._utils._rebuild_wrapper_subclass"),
    "torch.Size": _size,
    "builtins.set": _set,
    "__builtin__.set": _set,
    "builtins.frozenset": _set,
    "__builtin__.frozenset": _set,
    "_codecs.encode": _encoded,
    "__builtin__.bytes": lambda args, _: damaged() if args else b"",
}
_TENSOR_MAKERS = tuple(
    Global("torch._utils", name)
    for name in (
        "_rebuild_tensor_v2",
        "_rebuild_tensor_v3",
        "_rebuild_parameter",
        "_rebuild_parameter_with_state",
    )
)
"""Functions that `_rebuild_from_type_v2` may call; it is not among them, to rule out endless recursion."""
