"""The feed-forward with each activation, plain, gated and in a mixture of experts, number by number."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from tests.transformer.model.core import deviation
from transformer.model.feed_forward import FeedForward, MixtureOfExperts
from transformer.model.trace import NO_TAP, Recorder

BATCH, TOKENS, D_MODEL, D_FF = 2, 3, 5, 7
ACTIVATIONS: dict[str, Callable[[float], float]] = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x * 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "relu_squared": lambda x: max(x, 0.0) ** 2,
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


def test_a_token_gets_the_weighted_outputs_of_its_own_experts() -> None:
    generator = torch.Generator().manual_seed(1)
    feed_forwards = [FeedForward(D_MODEL, D_FF, activation="silu", bias=True, gated=True) for _ in range(4)]
    module = MixtureOfExperts(D_MODEL, feed_forwards, n_active=2).double()
    x = torch.randn(BATCH, TOKENS, D_MODEL, generator=generator).double()
    recorder = Recorder()
    out = module(x, recorder)
    records = recorder.records
    assert deviation(module(x), out) < 1e-14
    assert deviation(records["router_logits"], x @ module.router.weight.T) < 1e-14
    for sentence in range(BATCH):
        for token in range(TOKENS):
            at = (sentence, token)
            logits = records["router_logits"][at].tolist()
            best = sorted(range(4), key=lambda i: -logits[i])[:2]
            total = sum(math.exp(logits[i]) for i in best)
            weights = {i: math.exp(logits[i]) / total for i in best}
            expected = sum(weight * feed_forwards[i](x[at]) for i, weight in weights.items())
            assert deviation(out[at], expected) < 1e-14
            routing = torch.tensor([weights.get(i, 0.0) for i in range(4)]).double()
            assert deviation(records["routing"][at], routing) < 1e-7
            assert all(
                deviation(records[f"experts.{i}.out"][at], feed_forwards[i](x[at])) < 1e-14 for i in range(4)
            )


def test_an_expert_that_is_not_chosen_adds_nothing() -> None:
    """Not even where its numbers are not finite."""
    feed_forwards = [FeedForward(D_MODEL, D_FF, activation="relu", bias=True) for _ in range(3)]
    module = MixtureOfExperts(D_MODEL, feed_forwards, n_active=1)
    with torch.no_grad():
        module.router.weight.copy_(torch.tensor([1.0, 2.0, 0.0])[:, None].expand(3, D_MODEL))
        feed_forwards[2].w_2.weight.fill_(math.inf)
    x = torch.ones(BATCH, TOKENS, D_MODEL)
    for tap in (NO_TAP, Recorder()):
        assert deviation(module(x, tap), feed_forwards[1](x)) < 1e-6
