"""A run of a small model of sub-words, unequal in everything: for an app of the tests, and for the tests."""

from __future__ import annotations

from functools import cache

from tests.support.models import tiny_subword_model
from transformer.run import Run, run_again, run_sentence
from viz.viewer.held_run import HeldRun, hold

TEXTS = {
    "short": ("Yesterday the cats saw you.", "Ieri l'amica vede un cane, il gatto."),
    "long": ("Yesterday the cats saw you and the dogs didn't see. " * 4, "Ieri l'amica vede un cane. " * 3),
}
TWIN = "other weights"
SEEDS = {"run": 3, TWIN: 4}


@cache
def tiny_run(name: str, seed: int = SEEDS["run"]) -> Run:
    """The run of a text in the model of a seed; its target is given: every seed has the same tokens."""
    return run_sentence(tiny_subword_model(seed, max_len=200), *TEXTS[name])


@cache
def tiny_held(name: str) -> HeldRun:
    """The same as the viewer holds it, with another model's to be compared with."""
    run = tiny_run(name)

    def twin() -> HeldRun:
        other = tiny_subword_model(SEEDS[TWIN], max_len=200)
        return hold(run_again(other, run), other)

    return hold(run, tiny_subword_model(SEEDS["run"], max_len=200), {TWIN: twin})
