"""The gradient at each layer, compared with finite differences of the loss and with torch's own layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from transformer.analysis.attention_maps import stacks
from transformer.analysis.edited import edited_records
from transformer.analysis.gradients import stream_gradients
from transformer.loaded import LoadedModel
from transformer.model.trace import Stack
from transformer.run import Run, run_sentence

TEXT = "The cat saw a dog."
MODELS: dict[str, Callable[[], LoadedModel]] = {**KINDS, "paper": tiny_model}


def loss(loaded: LoadedModel, run: Run, path: str, moved: Tensor) -> float:
    """The loss of the run's tokens with `moved` added to the stream at a path."""
    records = edited_records(loaded, run, {path: lambda tensor: tensor + moved})
    output = records[list(run.trace)[-1]][0].double()
    if not run.steps:
        return float((output**2).mean() / 2)
    ahead = 0 if run.decoder_input is None else len(run.target_ids) - len(run.target.ids) - 1
    logs = output.log_softmax(-1)
    return -float(torch.stack([logs[ahead + step.position, step.token_id] for step in run.steps]).mean())


def length_by_differences(loaded: LoadedModel, run: Run, path: str) -> float:
    """The norm of the gradient by finite differences, one number of the stream at a time."""
    shape, step = run.trace[path].shape, 1e-2
    slopes = []
    for place in range(run.trace[path].numel()):
        moved = torch.zeros(shape).flatten()
        moved[place] = step
        moved = moved.reshape(shape)
        slopes.append((loss(loaded, run, path, moved) - loss(loaded, run, path, -moved)) / (2 * step))
    return float(torch.tensor(slopes).norm())


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize(
    "changes", [{}, {"has_generator": False, "norm_position": "pre"}], ids=["words", "bare"]
)
def test_it_is_the_slope_of_the_loss(stack: Stack, changes: dict[str, Any]) -> None:
    loaded = tiny_model(d_model=6, n_heads=2, d_ff=7, **changes)
    run = run_sentence(loaded, "The cat.")
    found = stream_gradients(loaded, run, stack)
    expected = [
        length_by_differences(loaded, run, f"{stack}.layers.{layer}.resid_pre") for layer in range(len(found))
    ]
    assert len(found) == run.trace.n_layers(stack)
    assert found == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_every_layer_of_every_kind_gets_some_and_the_model_stays_frozen(
    make: Callable[[], LoadedModel],
) -> None:
    loaded = make()
    run = run_sentence(loaded, TEXT)
    for stack in stacks(run.trace):
        found = stream_gradients(loaded, run, stack)
        assert len(found) == run.trace.n_layers(stack)
        # Without steps the loss is a mean square, which a final norm keeps almost constant.
        assert all(value > (1e-4 if run.steps else 0) for value in found)
    assert all(parameter.grad is None for parameter in loaded.model.parameters())
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
