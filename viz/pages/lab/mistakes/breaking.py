"""Make a mistake: build the variant of the model and run the user's sentence in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from transformer.analysis.variants import Change, altered
from transformer.decoding.greedy import decoding_step, next_token_probabilities
from transformer.loaded import LoadedModel
from transformer.model_input import beginning
from transformer.run import Run, generate, run_again
from viz.pages.lab.mistakes.mistake import Broken, Case


def altered_model(loaded: LoadedModel, change: Change, *, cached: bool = False) -> LoadedModel:
    """Make a variant of the model, with the same coders; see `altered`."""
    return loaded.with_weights(altered(loaded.model, change, cached=cached))


def broken_by(change: Change, *, cached: bool = False) -> Callable[[Case], Broken]:
    """A function that applies a mistake made in the model alone; see `altered`."""

    def broken(case: Case) -> Broken:
        loaded = altered_model(case.loaded, change, cached=cached)
        run = with_steps_of(case.run, run_again(loaded, case.run, top_k=candidates(case.run)), loaded)
        return Broken(loaded, run, case.run, _written_by(loaded, run))

    return broken


def _written_by(loaded: LoadedModel, run: Run) -> Run | None:
    """The broken model's own output for the source; None if it has no generator.

    With NaN scores it can't choose a token, so it is stopped after one.
    """
    config = loaded.model.config
    if not (config.n_decoder_layers and config.has_generator):
        return None
    begin = beginning(loaded, run.source)
    if not run.has_numbers:
        begin = replace(begin, limit=1)
    return generate(loaded, run.source, top_k=candidates(run), begin=begin)


def candidates(run: Run) -> int:
    """The number of candidates recorded per step of a run."""
    return len(run.steps[0].top_ids) if run.steps else 1


def with_steps_of(sound: Run, run: Run, loaded: LoadedModel) -> Run:
    """The run with steps for the sound run's tokens, including the last one, which no row reads.

    Without a decoder the steps are unchanged.
    """
    if run.decoder_input is None or not sound.steps:
        return run
    probabilities = next_token_probabilities(run.target_logits, loaded.target.special_tokens.suppressed)
    steps = (
        decoding_step(step.position, step.token_id, row, candidates(sound))
        for step, row in zip(sound.steps, probabilities, strict=False)
    )
    return replace(run, steps=tuple(steps))
