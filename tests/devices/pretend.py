"""A pretend CUDA device for any machine: its tensors compute on the CPU, with real numbers.

Fake tensors have no numbers, so code that asks for one (`if mask.all()`, `.item()`) can't run on them. Here
it can, and so can decoding, training and pages. What CUDA refuses is refused: operations on tensors of two
devices, NumPy, a generator of the other device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode

import transformer.device

CUDA = torch.device("cuda", 0)
CPU = torch.device("cpu")

_COPIES = (Tensor.copy_, torch._has_compatible_shallow_copy_type)
"""Functions that accept tensors of two devices, as on a real one."""
_TO_NUMPY = (Tensor.numpy, Tensor.__array__)


class WrongDeviceError(RuntimeError):
    """Raised for an operation that CUDA would refuse."""


class PretendCuda(TorchFunctionMode):
    """While active, `.to("cuda")` and `device="cuda"` give tensors whose device is `CUDA`.

    It applies to the thread that entered it. Tensors are recognised by their storage, so that views and
    tensors written in place stay on their device.
    """

    def __init__(self) -> None:
        super().__init__()
        self._storages: dict[int, StorageWeakRef] = {}  # a reference keeps the address from being reused

    def holds(self, tensor: Tensor) -> bool:
        """True if a tensor is on the device."""
        with torch._C.DisableTorchFunction():
            return self._holds(tensor)

    def _holds(self, tensor: Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self._storages

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        attribute = getattr(func, "__self__", None)
        if attribute is Tensor.device:
            return CUDA if self._holds(args[0]) else func(*args)
        if attribute is Tensor.is_cuda:
            return self._holds(args[0])
        leaves = [*_leaves(args), *_leaves(kwargs)]
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        strays = [tensor for tensor in tensors if not self._holds(tensor)]
        named = _named_device(func, args, kwargs)
        is_called_here = named is not None and named.type == "cuda"
        if is_called_here or len(strays) < len(tensors):
            _refuse_generators(func, leaves)
        if len(strays) < len(tensors):
            self._refuse(func, args, strays)
        if is_called_here:
            args, kwargs = _on_cpu(args), dict(zip(kwargs, _on_cpu(kwargs.values()), strict=True))
        result = func(*args, **kwargs)
        if func in _COPIES:
            return result
        is_here = is_called_here or (named is None and len(strays) < len(tensors))
        if isinstance(result, Tensor):
            return self._put(result, is_here, tensors)
        for leaf in _leaves(result):
            if isinstance(leaf, Tensor):
                self._put(leaf, is_here, ())
        return result

    def _put(self, tensor: Tensor, is_here: bool, given: Iterable[Tensor]) -> Tensor:
        """Record the device of a result; arguments (`given`) stay on theirs."""
        if self._holds(tensor) == is_here:
            return tensor
        if tensor.untyped_storage()._cdata in {one.untyped_storage()._cdata for one in given}:
            tensor = tensor.clone()
        if is_here:
            storage = tensor.untyped_storage()
            self._storages[storage._cdata] = StorageWeakRef(storage)
        return tensor

    def _refuse(self, func: Any, args: Any, strays: Sequence[Tensor]) -> None:
        """Refuse what CUDA refuses; scalars and indices may come from the CPU."""
        if func in _TO_NUMPY:
            raise WrongDeviceError("A tensor of the device has no NumPy array: copy it to the CPU first.")
        is_assignment = getattr(func, "__self__", None) is Tensor.data  # how a module moves its parameters
        is_indexing = func is Tensor.__getitem__ and self._holds(args[0])
        if func in _COPIES or is_assignment or is_indexing:
            return
        shapes = [str(tuple(tensor.shape)) for tensor in strays if tensor.dim() > 0]
        if shapes:
            raise WrongDeviceError(
                f"{_name(func)} got tensors of the device and, from the CPU, of shape {', '.join(shapes)}."
            )


def _leaves(value: Any) -> Iterator[Any]:
    """The leaves of nested lists, tuples and dictionaries."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    else:
        yield value


def _named_device(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> torch.device | None:
    """The device named in a call; None if it names none."""
    if func is Tensor.cpu:
        return CPU
    asked = kwargs.get("device")
    if asked is None and func is Tensor.to and isinstance(args[1], str | torch.device):
        asked = args[1]
    return None if asked is None else torch.device(asked)


def _on_cpu(arguments: Iterable[Any]) -> tuple[Any, ...]:
    """The same arguments with the CPU in place of CUDA."""
    named = (isinstance(one, str | torch.device) and str(one).startswith("cuda") for one in arguments)
    return tuple(CPU if is_named else one for one, is_named in zip(arguments, named, strict=True))


def _refuse_generators(func: Any, leaves: Iterable[Any]) -> None:
    if any(isinstance(leaf, torch.Generator) for leaf in leaves):
        raise WrongDeviceError(f"{_name(func)} of the device got a generator of the CPU.")


def _name(func: Any) -> str:
    return str(getattr(func, "__name__", func))


def pretended_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patch the calls to CUDA that involve no tensors: availability, generator, autocast."""
    autocast = torch.autocast

    def on_cpu(device_type: str, dtype: torch.dtype, *, enabled: bool) -> torch.autocast:
        return autocast({"cuda": "cpu"}.get(device_type, device_type), dtype, enabled=enabled)

    def set_rng_state(state: Tensor, device: torch.device) -> None:
        assert device.type == "cuda"
        torch.set_rng_state(state)

    monkeypatch.setattr(torch, "autocast", on_cpu)
    monkeypatch.setattr(transformer.device, "available_devices", lambda: ["cuda", "cpu"])
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"pretended {device}")
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: torch.get_rng_state())
    monkeypatch.setattr(torch.cuda, "set_rng_state", set_rng_state)
    monkeypatch.setattr(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False)
