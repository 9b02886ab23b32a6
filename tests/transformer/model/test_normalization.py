"""Norms against torch's and against their definitions."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import layer_norm, rms_norm

from tests.transformer.model.core import deviation, tiny_config
from transformer.model.normalization import LayerNorm, RMSNorm, UnbiasedLayerNorm, norm_of
from transformer.model.trace import Editor, Recorder, Trace

BATCH, TOKENS, D_MODEL = 2, 5, 11


def random_norm(eps: float = 1e-5) -> LayerNorm:
    norm = LayerNorm(D_MODEL, eps)
    generator = torch.Generator().manual_seed(0)
    torch.nn.init.normal_(norm.gamma, generator=generator)
    torch.nn.init.normal_(norm.beta, generator=generator)
    return norm


def tokens(size: float = 3.0, offset: float = 2.0) -> Tensor:
    return offset + size * torch.randn(BATCH, TOKENS, D_MODEL, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("eps", [1e-5, 1e-12, 0.5])
@pytest.mark.parametrize("size", [3.0, 1e-3, 1e4])
def test_equals_torch(eps: float, size: float) -> None:
    """Published mistakes: normalizing over two axes, the unbiased deviation, and eps outside of the root."""
    norm, x = random_norm(eps).double(), tokens(size).double()
    assert deviation(norm(x), layer_norm(x, (D_MODEL,), norm.gamma, norm.beta, eps)) < 1e-11


def test_equals_torch_in_float32() -> None:
    norm, x = random_norm(), tokens()
    assert deviation(norm(x), layer_norm(x, (D_MODEL,), norm.gamma, norm.beta, 1e-5)) < 2e-6


def test_mean_0_and_variance_1_before_gamma_and_beta() -> None:
    norm, x = random_norm(), tokens()
    recorder = Recorder()
    result = norm(x, recorder)
    records = recorder.records
    assert list(records) == ["input", "mean", "scale", "normalized", "result"]
    assert torch.equal(records["input"], x)
    assert records["mean"].shape == records["scale"].shape == (BATCH, TOKENS, 1)
    assert deviation(records["normalized"].mean(dim=-1), torch.zeros(BATCH, TOKENS)) < 1e-6
    assert deviation(records["normalized"].square().mean(dim=-1), torch.ones(BATCH, TOKENS)) < 1e-4, (
        "1 but for eps"
    )
    assert torch.equal(records["result"], result)
    assert torch.equal(result, norm.gamma * records["normalized"] + norm.beta)
    numbers = x[1, 2].double()
    variance = ((numbers - numbers.mean()) ** 2).sum() / D_MODEL
    assert records["scale"][1, 2].item() == pytest.approx((variance + 1e-5).sqrt().item(), rel=1e-6)


def test_equal_numbers_give_beta() -> None:
    norm = random_norm()
    assert torch.equal(norm(torch.full((1, 1, D_MODEL), 7.0))[0, 0], norm.beta)


def test_the_tap_can_freeze_the_scale() -> None:
    norm, x = random_norm(), tokens()
    frozen = norm(x, Editor({"scale": torch.ones_like}))
    expected = norm.gamma * (x - x.mean(dim=-1, keepdim=True)) + norm.beta
    assert deviation(frozen, expected) < 1e-6


@pytest.mark.parametrize("eps", [1e-6, 0.5])
@pytest.mark.parametrize("size", [3.0, 1e-3, 1e4])
def test_rms_equals_torch_and_its_formula(eps: float, size: float) -> None:
    norm, x = RMSNorm(D_MODEL, eps).double(), tokens(size).double()
    torch.nn.init.normal_(norm.gamma, generator=torch.Generator().manual_seed(0))
    recorder = Recorder()
    expected = norm.gamma * x / (x.pow(2).sum(dim=-1, keepdim=True) / D_MODEL + eps).sqrt()
    for result in (norm(x), norm(x, recorder), rms_norm(x, (D_MODEL,), norm.gamma, eps)):
        assert deviation(result, expected) < 1e-11
    assert list(recorder.records) == ["input", "scale", "normalized", "result"]
    assert recorder.records["scale"].shape == (BATCH, TOKENS, 1)
    assert [name for name, _ in norm.named_parameters()] == ["gamma"]
    record = Trace({f"norm.{name}": tensor for name, tensor in recorder.records.items()}).norm("norm")
    assert record.mean is None


@pytest.mark.parametrize("eps", [1e-6, 0.5])
def test_unbiased_is_what_the_annotated_transformer_writes(eps: float) -> None:
    norm, x = UnbiasedLayerNorm(D_MODEL, eps).double(), tokens().double()
    generator = torch.Generator().manual_seed(0)
    torch.nn.init.normal_(norm.gamma, generator=generator)
    torch.nn.init.normal_(norm.beta, generator=generator)
    recorder = Recorder()
    deviations = ((x - x.mean(-1, keepdim=True)).pow(2).sum(-1, keepdim=True) / (D_MODEL - 1)).sqrt()
    expected = norm.gamma * (x - x.mean(-1, keepdim=True)) / (deviations + eps) + norm.beta
    assert deviation(norm(x), expected) < 1e-11
    assert deviation(norm(x, recorder), expected) < 1e-11
    assert list(recorder.records) == ["input", "mean", "scale", "normalized", "result"]
    assert deviation(recorder.records["scale"], deviations + eps) < 1e-11


@pytest.mark.parametrize(
    "kind, made", [("layer", LayerNorm), ("rms", RMSNorm), ("layer_unbiased", UnbiasedLayerNorm)]
)
def test_the_configuration_chooses(kind: str, made: type) -> None:
    norm = norm_of(tiny_config(norm=kind, norm_eps=0.25))
    assert type(norm) is made
    assert norm.eps == 0.25
    assert norm.gamma.shape == (66,)
