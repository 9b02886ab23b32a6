"""Where a model runs: chosen automatically, overridable, refused with a sentence."""

from __future__ import annotations

import pytest
import torch

from transformer.device import DeviceError, available_devices, choose_device


def machine(monkeypatch: pytest.MonkeyPatch, *, cuda: int, mps: bool) -> None:
    """A machine with this many CUDA devices, or with Apple's."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    "cuda, mps, devices",
    [
        (0, False, ["cpu"]),
        (2, False, ["cuda", "cpu"]),
        (0, True, ["mps", "cpu"]),
        (1, True, ["cuda", "mps", "cpu"]),
    ],
)
def test_the_fastest_comes_first(
    monkeypatch: pytest.MonkeyPatch, cuda: int, mps: bool, devices: list[str]
) -> None:
    machine(monkeypatch, cuda=cuda, mps=mps)
    assert available_devices() == devices
    assert choose_device() == torch.device(devices[0])
    assert [choose_device(name) for name in devices] == [torch.device(name) for name in devices]


def test_one_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, cuda=2, mps=False)
    assert choose_device("cuda:1") == torch.device("cuda", 1)


@pytest.mark.parametrize("name", ["mps", "cuda:2", "cuda:x", "cuda:-1", "tpu", "", "CPU", "cpu:1", "<b>"])
def test_what_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    machine(monkeypatch, cuda=2, mps=False)
    with pytest.raises(DeviceError, match=r"There is no device .* here: choose one of cuda, cpu\.") as caught:
        choose_device(name)
    assert repr(name) in str(caught.value)
