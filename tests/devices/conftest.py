"""The device of these tests: a pretend one everywhere, and a real one where there is one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.devices.pretend import CUDA, PretendCuda, pretended_calls


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Iterator[PretendCuda]:
    """A machine that pretends to have a CUDA device."""
    pretended_calls(monkeypatch)
    with PretendCuda() as mode:
        yield mode


@pytest.fixture
def real_cuda(monkeypatch: pytest.MonkeyPatch) -> torch.device:
    """A real CUDA device, with matrix products in full float32."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device (torch.cuda.is_available() is False)")
    assert torch.get_float32_matmul_precision() == "highest"
    return CUDA


@pytest.fixture(params=["pretend", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> torch.device:
    """Both devices in turn."""
    request.getfixturevalue("pretend" if request.param == "pretend" else "real_cuda")
    return CUDA
