"""The feed-forward with each activation, plain and gated, number by number."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from tests.transformer.model.core import deviation
from transformer.model.feed_forward import FeedForward
from transformer.model.trace import Recorder

BATCH, TOKENS, D_MODEL, D_FF = 2, 3, 5, 7
ACTIVATIONS: dict[str, Callable[[float], float]] = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x * 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + math.exp(-x)),
}


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_it_is_its_formula(activation: str, gated: bool) -> None:
    module = FeedForward(D_MODEL, D_FF, activation=activation, bias=True, gated=gated).double()
    x = torch.randn(BATCH, TOKENS, D_MODEL, generator=torch.Generator().manual_seed(0)).double()
    before = x @ module.w_1.weight.T + module.w_1.bias
    gate = before.detach().clone().apply_(ACTIVATIONS[activation])
    hidden = gate if module.w_3 is None else gate * (x @ module.w_3.weight.T + module.w_3.bias)
    expected = hidden @ module.w_2.weight.T + module.w_2.bias
    recorder = Recorder()
    assert deviation(module(x, recorder), expected) < 1e-14
    assert torch.equal(module(x), module(x, Recorder()))
    assert list(recorder.records) == (["gate", "hidden", "out"] if gated else ["hidden", "out"])
    assert deviation(recorder.records["hidden"], hidden) < 1e-14
    if gated:
        assert deviation(recorder.records["gate"], gate) < 1e-14


def test_a_gated_one_has_three_matrices_without_biases_on_request() -> None:
    module = FeedForward(D_MODEL, D_FF, activation="silu", bias=False, gated=True)
    assert {name: tuple(weight.shape) for name, weight in module.named_parameters()} == {
        "w_1.weight": (D_FF, D_MODEL),
        "w_2.weight": (D_MODEL, D_FF),
        "w_3.weight": (D_FF, D_MODEL),
    }
