"""Known circuits are found: programs compiled to weights, whose heads outside the circuit do nothing.

Thirty programs compiled by Tracr (Lindner et al. 2023, arXiv:2301.05062; see `compile_programs.py`), and copy
and reverse through cross-attention, written by hand.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.support.auroc import auroc
from tests.transformer.analysis.circuits.compiled import (
    N_DECOYS,
    N_UNREAD,
    Compiled,
    attention_paths,
    compiled,
    names,
)
from transformer.analysis.interventions.edits import resample, zero
from transformer.analysis.interventions.outcomes import outcomes
from transformer.analysis.interventions.patch_places import places
from transformer.analysis.interventions.patching import Pair, pair_of, patch_grid
from transformer.errors import EditError

OUTSIDE = 1e-4
"""Largest effect of a head outside the circuit."""


def assert_found(effects: Tensor, circuit: set[tuple[int, int]], ignored: set[tuple[int, int]]) -> None:
    """The heads of the circuit come first in (layers, heads), the others have no effect."""
    heads = list(product(*map(range, effects.shape)))
    inside = torch.stack([effects[head] for head in heads if head in circuit])
    outside = torch.stack([effects[head] for head in heads if head not in circuit | ignored])
    assert auroc(inside, outside) == 1.0, effects
    assert float(outside.max()) <= OUTSIDE, effects


def test_there_are_enough_programs_and_heads_outside() -> None:
    assert len(names()) >= 20
    for name in names():
        one = compiled(name)
        config = one.loaded.model.config
        n_layers = config.n_encoder_layers + config.n_decoder_layers
        assert n_layers * config.n_heads - len(one.circuit) >= N_DECOYS * n_layers
        for path in attention_paths(one.loaded):
            decoys = one.runs[0].trace[f"{path}.out"][0, :, -N_UNREAD:]
            assert float(decoys.norm(dim=-1).min()) > 0.01, "the decoys write something"


@pytest.mark.parametrize("name", names())
def test_a_compiled_program_runs_as_in_tracr_and_its_heads_are_found(name: str) -> None:
    one = compiled(name)
    for i, run in enumerate(one.runs):
        logits = run.trace["logits"][0]
        own = logits[:, : one.output.shape[-1]].numpy()
        np.testing.assert_allclose(own, one.output[i, : len(own)], atol=1e-5, rtol=1e-5)
        for question in one.questions(i):
            (row,) = question.rows
            found = own[row, 0] if one.is_number else own[row].argmax()
            assert found == pytest.approx(one.expected[i, row], abs=1e-2)
    _knock_out(one, "zero")
    _knock_out(one, "resample")
    _patch(one)


def _knock_out(one: Compiled, how: str) -> None:
    paths = attention_paths(one.loaded)
    n_heads = one.loaded.model.config.n_heads
    effects = torch.zeros(len(paths) * n_heads, dtype=torch.float64)
    for i, run in enumerate(one.runs):
        other = one.runs[i - 1]
        variants = [
            (zero(head=head) if how == "zero" else resample(other, head=head)).at(f"{path}.z", one.loaded)
            for path in paths
            for head in range(n_heads)
        ]
        own, *others = outcomes(one.loaded, run, [{}, *variants], one.questions(i))
        effects += (torch.stack(others) - own).abs().mean(dim=1) / len(one.runs)
    assert_found(effects.unflatten(0, (-1, n_heads)), set(one.circuit), set())


def _patch(one: Compiled) -> None:
    """Heads at all positions, and at the position where each does most.

    Patching can't find a head that counts positions: both sentences have equally many.
    """
    config = one.loaded.model.config
    place = next(place for place in places(config) if place.by_head)
    counting = {head for head, depends in one.circuit.items() if not depends}
    if len(counting) == len(one.circuit):
        return
    pairs = _pairs(one)
    grids = [patch_grid(one.loaded, pair, place).shares.abs() for pair in pairs]
    assert_found(torch.stack(grids).mean(dim=0), set(one.circuit) - counting, counting)
    by_position = [
        [patch_grid(one.loaded, pair, layer).shares.abs().amax(dim=1) for layer in place.in_layers(config)]
        for pair in pairs
    ]
    effects = torch.stack([torch.stack(layers) for layers in by_position]).mean(dim=0)
    assert_found(effects, set(one.circuit) - counting, counting)


def _pairs(one: Compiled) -> list[Pair]:
    """Pairs of inputs of one length, with a position where their outputs differ."""
    found = []
    for (i, clean), (j, corrupt) in product(enumerate(one.runs), repeat=2):
        if j == i + 1 and len(clean.source.ids) == len(corrupt.source.ids):
            for question in one.questions(i):
                try:
                    found.append(pair_of(one.loaded, clean, corrupt, question))
                except EditError:
                    continue
    return found
