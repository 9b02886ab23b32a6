"""Models on the device, and numbers of the device beside those of the CPU."""

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
"""Of every kind, with unequal depths, positions and norms; all of them small."""

RTOL, ATOL = 1e-4, 1e-5
"""float32 keeps 7 digits, and long sums are added in another order."""


def moved(loaded: LoadedModel, device: torch.device = CUDA) -> LoadedModel:
    """A copy of the model on the device."""
    return replace(loaded, model=freeze(copy.deepcopy(loaded.model).to(device)))


def assert_same(on_device: Tensor, on_cpu: Tensor, what: str = "") -> None:
    """Compare numbers that have been copied to the CPU with the CPU's own."""
    torch.testing.assert_close(on_device, on_cpu, rtol=RTOL, atol=ATOL, msg=lambda said: f"{what}: {said}")
