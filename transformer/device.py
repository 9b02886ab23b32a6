"""Where a model runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


class DeviceError(ValueError):
    """A device that is not there."""


def available_devices() -> list[str]:
    """What this machine has, the fastest first: CUDA, then Apple's MPS, then the CPU."""
    import torch  # only here: the error above is caught by commands that may need no torch

    cuda = ["cuda"] if torch.cuda.is_available() else []
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return [*cuda, *mps, "cpu"]


def choose_device(name: str | None = None) -> torch.device:
    """The device of that name, or the fastest there is when none is named.

    Raises:
        DeviceError: when this machine has no such device.
    """
    import torch

    devices = available_devices()
    if name is None:
        return torch.device(devices[0])
    kind, _, index = name.partition(":")
    count = torch.cuda.device_count() if kind == "cuda" else 1
    if kind not in devices or (index and index not in map(str, range(count))):
        raise DeviceError(f"There is no device {name!r} here: choose one of {', '.join(devices)}.")
    return torch.device(name)
