"""How a variant of a model is made: a copy of its modules around the same parameters, some of them changed.

The model itself is never touched, since others use it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from transformer.analysis.mistakes.mistake import Broken, Case
from transformer.checkpoints.folder import LoadedModel
from transformer.decoding.greedy import decoding_step, next_token_probabilities
from transformer.model.transformer import Transformer
from transformer.run import Run, generate, run_again

Change = Callable[[Transformer], None]
"""Puts a mistake into a model that nobody else uses."""


class Recomputing(Transformer):
    """Computes the whole target at each step of a decoding, as most code that is written to be read does.

    With a mistake in it, what is kept of earlier tokens need not be what the whole target would give.
    """

    @property
    def recomputes(self) -> bool:
        """Always."""
        return True


def altered(model: Transformer, change: Change) -> Transformer:
    """A variant that shares the model's parameters under the same names, and its buffers too."""
    shared = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    variant = copy.deepcopy(model, shared)
    variant.__class__ = Recomputing
    change(variant)
    return variant


def altered_model(loaded: LoadedModel, change: Change) -> LoadedModel:
    """The variant with its coders."""
    return replace(loaded, model=altered(loaded.model, change))


def broken_by(change: Change) -> Callable[[Case], Broken]:
    """What a mistake that lies in the model alone makes of a case."""

    def broken(case: Case) -> Broken:
        loaded = altered_model(case.loaded, change)
        run = run_again(loaded, case.run, top_k=candidates(case.run))
        return Broken(loaded, with_steps_of(case.run, run, loaded), case.run, written_by(loaded, case))

    return broken


def written_by(loaded: LoadedModel, case: Case) -> Run | None:
    """What a broken model writes by itself for the case's source; None where it does not write."""
    config = loaded.model.config
    if not (config.n_decoder_layers and config.has_generator):
        return None
    return generate(loaded, case.run.source, top_k=candidates(case.run))


def candidates(run: Run) -> int:
    """How many tokens each step of a run tells, for another to tell as many."""
    return len(run.steps[0].top_ids) if run.steps else 1


def with_steps_of(sound: Run, run: Run, loaded: LoadedModel) -> Run:
    """The run with what it thinks of each token that the sound one took, the last one that was not read too.

    Without a decoder the steps stay as they are.
    """
    if run.decoder_input is None or not sound.steps:
        return run
    probabilities = next_token_probabilities(run.target_logits, loaded.target.special_tokens.suppressed)
    steps = (
        decoding_step(step.position, step.token_id, row, candidates(sound))
        for step, row in zip(sound.steps, probabilities, strict=False)
    )
    return replace(run, steps=tuple(steps))
