"""Runs of small models of every kind, computed the same way by the tests' app and by the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import torch

from tests.support.kinds import KINDS
from tests.support.models import tiny_model, tiny_subword_model
from transformer.analysis.attention_maps import attention_record, attentions, n_layers
from transformer.loaded import LoadedModel, freeze
from transformer.model.transformer import Transformer
from transformer.run import Run, run_again, run_sentence
from viz.viewer.viewer_run import ViewerRun, view_run, view_weights

TEXT = "The dog saw a cat yesterday."
TWIN = "random weights"
MODELS: dict[str, Callable[[], LoadedModel]] = {
    **KINDS,
    "words": tiny_model,
    "subwords": tiny_subword_model,
    "long": partial(tiny_subword_model, max_len=200),
    "untransposed": partial(tiny_model, merge_heads="untransposed"),
}
"""Small models by the name of their kind."""


class Ran(NamedTuple):
    """A model and its run of a sentence."""

    loaded: LoadedModel
    run: Run

    def held(self, typed: tuple[str, str] | None = None) -> ViewerRun:
        """The run in the viewer's form, with a run of other weights to compare with.

        Args:
            typed: source and target, as typed; see `view_run`.
        """

        def twin() -> ViewerRun:
            model = Transformer(self.loaded.model.config, torch.Generator().manual_seed(1))
            other = replace(self.loaded, model=freeze(model))
            return view_run(run_again(other, self.run), other)

        return view_run(self.run, self.loaded, {TWIN: twin}, typed=typed)

    def held_weights(self) -> ViewerRun:
        """The run in the viewer's form, if only its tokens and attention weights are known."""
        trace = self.run.trace
        weights = {
            name: [
                attention_record(trace, name, layer).weights[0].numpy()
                for layer in range(n_layers(trace, name))
            ]
            for name in attentions(trace)
        }
        sides = self.held().sides
        return view_weights(weights, {stack: side.tokens for stack, side in sides.items()})


@lru_cache(maxsize=8)
def ran(kind: str, text: str = TEXT, target: str = "", sharpness: int = 1) -> Ran:
    """Run a sentence through the small model of a kind.

    Args:
        kind: of `MODELS`.
        text: the sentence.
        target: for a model with a decoder; without one, the model writes its own.
        sharpness: factor of the scores in a model whose queries are not normed: the scores of random weights
            are small, and their attention is uniform.
    """
    loaded = MODELS[kind]()
    with torch.no_grad():
        for name, parameter in loaded.model.named_parameters():
            if ".w_q." in name:
                parameter.mul_(sharpness)
    return Ran(loaded, run_sentence(loaded, text, target))


@lru_cache(maxsize=8)
def held_of(
    kind: str, text: str = TEXT, target: str = "", sharpness: int = 1, *, knows_all: bool = True
) -> ViewerRun:
    """The result of `ran` in the viewer's form: all of it, or only its tokens and attention weights."""
    run = ran(kind, text, target, sharpness)
    return run.held((text, target)) if knows_all else run.held_weights()
