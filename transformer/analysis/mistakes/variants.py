"""How a variant of a model is made: a copy of its modules around the same parameters, some of them replaced.

The model itself is never touched, since others use it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from transformer.analysis.mistakes.mistake import Broken, Case
from transformer.checkpoints.folder import LoadedModel
from transformer.model.transformer import Transformer
from transformer.run import Run, generate, run_again

Change = Callable[[Transformer], None]
"""Puts a mistake into a model that nobody else uses."""


class Recomputing(Transformer):
    """Computes the whole target at each step, as nearly all code that is written to be read does.

    With a mistake in it, what is kept of earlier tokens need not be what the whole target would give.
    """

    @property
    def recomputes(self) -> bool:
        """Always."""
        return True


def altered(model: Transformer, change: Change) -> Transformer:
    """A variant that shares the model's parameters and buffers under the same names."""
    shared = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    variant = copy.deepcopy(model, shared)
    variant.__class__ = Recomputing
    change(variant)
    return variant


def altered_model(loaded: LoadedModel, change: Change) -> LoadedModel:
    """The same for a model with its coders."""
    return replace(loaded, model=altered(loaded.model, change))


def broken_by(change: Change) -> Callable[[Case], Broken]:
    """What a mistake makes of a case that lies in the model alone."""

    def broken(case: Case) -> Broken:
        loaded = altered_model(case.loaded, change)
        return Broken(loaded, run_again(loaded, case.run), case.run, free_run(loaded, case))

    return broken


def free_run(loaded: LoadedModel, case: Case) -> Run | None:
    """What a broken model writes by itself; None where it does not write."""
    config = loaded.model.config
    return generate(loaded, case.run.source) if config.n_decoder_layers and config.has_generator else None
