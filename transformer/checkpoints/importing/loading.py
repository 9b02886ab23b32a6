"""The model's skeleton filled with a checkpoint's numbers, mapped from their file where they can be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn

from transformer.checkpoints.importing.family import StandIn
from transformer.checkpoints.importing.mapping import WeightPlan, ties
from transformer.checkpoints.importing.recognition import ImportPlan
from transformer.checkpoints.importing.report import TiedKey
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.raw import StoredTensor
from transformer.model.transformer import Transformer

_SEED = 0
"""Of numbers that stand in for weights that the files lack: the same at each opening."""


def fill(plan: ImportPlan) -> Transformer:
    """Give the plan's skeleton its weights; the names must fit.

    Weights stored as float32 are views of their file, others become float32: there is no second copy.
    """
    model = plan.skeleton
    tied = ties(model)
    weights = dict(_stored(model, plan.weights))
    weights |= dict(_standing_in(model, plan.weights))
    model.load_state_dict(weights, strict=False, assign=True)
    for name, first in tied.items():
        owner, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(owner), attribute, model.get_parameter(first))
    empty = [name for name, weight in _all_tensors(model) if weight.is_meta]
    if empty:
        raise AssertionError(f"{', '.join(empty)} got no numbers")
    return model


def compare_ties(copies: Iterable[TiedKey], tensors: Iterable[StoredTensor]) -> tuple[TiedKey, ...]:
    """Look whether weights that are stored twice though the model ties them hold the same numbers."""
    by_name = {stored.name: stored for stored in tensors}

    def is_equal(copy: TiedKey) -> bool:
        one, other = map_tensor(by_name[copy.name]), map_tensor(by_name[copy.to])
        return one.numel() == other.numel() and torch.equal(one.flatten(), other.flatten().to(one.dtype))

    return tuple(replace(copy, equal=is_equal(copy)) for copy in copies)


def _stored(model: Transformer, plan: WeightPlan) -> Iterator[tuple[str, Tensor]]:
    for assignment in plan.assignments:
        numbers = map_tensor(assignment.stored).to(torch.float32)
        yield from zip(assignment.names, assignment.transform(numbers, model.config), strict=True)


def _standing_in(model: Transformer, plan: WeightPlan) -> Iterator[tuple[str, Tensor]]:
    generator = torch.Generator().manual_seed(_SEED)
    for name, kind in plan.stand_ins.items():
        yield name, _stand_in(kind, model.get_parameter(name).shape, generator)


def _stand_in(kind: StandIn, shape: torch.Size, generator: torch.Generator) -> Tensor:
    if kind in ("zeros", "ones"):
        return torch.zeros(shape) if kind == "zeros" else torch.ones(shape)
    # The size that embeddings begin a training with; sublayers' matrices get about as much.
    return torch.randn(shape, generator=generator) / math.sqrt(shape[-1])


def _all_tensors(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    yield from model.named_parameters()
    yield from model.named_buffers()
