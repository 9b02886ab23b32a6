"""Two checkpoints: equal ones differ by 0, an altered head is first, permuted heads are matched."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import permutations

import pytest
import torch
from torch import nn

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from tests.transformer.analysis.roles.test_roles import PAIRS
from transformer.analysis.roles.analysis import analyze
from transformer.analysis.roles.assignment import cheapest_assignment
from transformer.analysis.roles.comparison import ComparisonError, compare
from transformer.analysis.roles.report import HeadReport
from transformer.loaded import LoadedModel
from transformer.model.attention import MultiHeadAttention


def changed(loaded: LoadedModel, change: Callable[[nn.Module], None]) -> LoadedModel:
    """The same model with other weights."""
    model = copy.deepcopy(loaded.model)
    with torch.no_grad():
        change(model)
    return loaded.with_weights(model)


def report_of(loaded: LoadedModel) -> HeadReport:
    return analyze(loaded, PAIRS)


def test_equal_checkpoints_differ_by_nothing() -> None:
    report = report_of(tiny_model())
    changes = compare(report, report_of(tiny_model()))
    assert len(changes) == len(report.heads)
    assert {(one.looks, one.writes, one.role) for one in changes} == {(0.0, 0.0, 0.0)}
    assert all(one.before == one.after for one in changes)


@pytest.mark.parametrize("weight", ["w_q", "w_o"])
def test_one_altered_head_is_first(weight: str) -> None:
    """Whether it looks elsewhere or writes something else."""
    loaded = tiny_model()

    def alter(model: nn.Module) -> None:
        attention = model.get_submodule("decoder.layers.1.cross_attn")
        assert isinstance(attention, MultiHeadAttention)
        own = slice(2 * attention.d_head, 3 * attention.d_head)
        if weight == "w_q":
            attention.w_q.weight[own] *= -9
        else:
            attention.w_o.weight[:, own] *= -1

    first, second, *_ = compare(report_of(loaded), report_of(changed(loaded, alter)))
    assert (first.after.attention, first.after.layer, first.after.head) == ("cross", 1, 2)
    assert first.change > 1.5 * second.change
    assert (first.looks > 0) == (weight == "w_q")


def test_permuted_heads_are_matched() -> None:
    loaded = KINDS["rotary"]()  # pairs of keys and values are shared by three queries each
    for model, order in ((tiny_model(), [2, 0, 1]), (loaded, [1, 2, 0, 5, 3, 4])):

        def permute(weights: nn.Module, order: list[int] = order) -> None:
            for module in weights.modules():
                if isinstance(module, MultiHeadAttention):
                    _permute(module, order)

        changes = compare(report_of(model), report_of(changed(model, permute)))
        right = [order[one.after.head] == one.before.head for one in changes]
        assert sum(right) >= 0.95 * len(right)
        assert max(one.change for one in changes) < 1e-3


def _permute(module: MultiHeadAttention, order: list[int]) -> None:
    """Head i becomes what head order[i] was; keys and values follow where each head has its own."""
    linears = [module.w_q] if module.n_kv_heads < module.n_heads else [module.w_q, module.w_k, module.w_v]
    for linear in linears:
        for parameter in linear.parameters():
            parameter.copy_(parameter.unflatten(0, (module.n_heads, -1))[order].flatten(0, 1))
    weight = module.w_o.weight
    weight.copy_(weight.unflatten(1, (module.n_heads, -1))[:, order].flatten(1))


def test_reports_that_can_t_be_compared_are_refused() -> None:
    report = report_of(tiny_model())
    with pytest.raises(ComparisonError, match="different layers or heads"):
        compare(report, report_of(KINDS["prompted"]()))
    with pytest.raises(ComparisonError, match="read different tokens"):
        compare(report, analyze(tiny_model(), PAIRS[:3]))


def test_the_assignment_is_the_cheapest() -> None:
    generator = torch.Generator().manual_seed(0)
    for n in (1, 2, 3, 5, 6):
        costs = torch.rand(n, n, generator=generator).tolist()
        found = cheapest_assignment(costs)
        assert sorted(found) == list(range(n))
        best = min(sum(costs[row][column] for row, column in enumerate(p)) for p in permutations(range(n)))
        assert sum(costs[row][column] for row, column in enumerate(found)) == pytest.approx(best)
