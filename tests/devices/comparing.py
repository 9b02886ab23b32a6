"""Models on the device, and comparisons of its numbers with the CPU's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from tests.devices.pretend import CUDA
from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from transformer.loaded import LoadedModel, freeze

MODELS: dict[str, Callable[[], LoadedModel]] = KINDS | {"words": tiny_model}
"""Small models of every kind, with unequal depths, positions and norms."""

RTOL, ATOL = 1e-4, 1e-5
"""float32 has 7 digits, and long sums are added in a different order."""


def moved(loaded: LoadedModel, device: torch.device = CUDA) -> LoadedModel:
    """A copy of the model on the device."""
    return replace(loaded, model=freeze(copy.deepcopy(loaded.model).to(device)))


def assert_same(on_device: Tensor, on_cpu: Tensor, what: str = "") -> None:
    """Compare numbers copied from the device with the CPU's."""
    torch.testing.assert_close(on_device, on_cpu, rtol=RTOL, atol=ATOL, msg=lambda said: f"{what}: {said}")
