"""Chooses the device that a model runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


class DeviceError(ValueError):
    """The machine has no such device."""


def available_devices() -> list[str]:
    """The machine's devices, fastest first: CUDA, Apple's MPS, the CPU."""
    import torch  # imported here: commands that don't need torch also catch DeviceError

    cuda = ["cuda"] if torch.cuda.is_available() else []
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return [*cuda, *mps, "cpu"]


def choose_device(name: str | None = None) -> torch.device:
    """The device with this name; the fastest if None.

    Raises:
        DeviceError: when the machine has no such device.
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
