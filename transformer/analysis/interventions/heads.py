"""Heads switched off one by one, and all but a few: which of them matter, and for which word.

The score of a head depends on what replaces its output (Miller et al. 2024, "Transformer Circuit Faithfulness
Metrics are not Robust", arXiv:2407.08734), so the kind of ablation is always part of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from transformer.analysis.attention_maps import MODULES, Attention
from transformer.analysis.interventions.edits import mean, resample
from transformer.analysis.interventions.outcomes import OnProgress, Variant, falls, outcomes
from transformer.analysis.interventions.questions import Question
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.model.trace import Edit
from transformer.run import Run

Ablation = Literal["zero", "mean", "resample"]
"""What replaces a head's output: zeros, its mean over other sentences, or outputs at random places there."""
ABLATIONS: tuple[Ablation, ...] = get_args(Ablation)
N_DRAWS = 4
"""Draws of "resample"; the effect is their mean."""


class HeadPlace(NamedTuple):
    """A head of a model."""

    attention: Attention
    layer: int
    head: int

    @property
    def path(self) -> str:
        """The path of its output z, which it shares with the other heads of its layer."""
        stack, name = MODULES[self.attention]
        return f"{stack}.layers.{self.layer}.{name}.z"

    def __str__(self) -> str:
        return f"{self.attention} {self.layer}.{self.head}"


def head_places(config: TransformerConfig) -> list[HeadPlace]:
    """All heads of a model, by attention and layer."""
    n_layers: dict[Attention, int] = {
        "encoder": config.n_encoder_layers,
        "decoder": config.n_decoder_layers,
        "cross": config.n_decoder_layers if config.n_encoder_layers else 0,
    }
    return [
        HeadPlace(attention, layer, head)
        for attention, n in n_layers.items()
        for layer in range(n)
        for head in range(config.n_heads)
    ]


class Switch:
    """Switches heads of a model off, all in the same way.

    Args:
        loaded: the model.
        how: see `Ablation`.
        reference: runs of other sentences, which "mean" and "resample" take their vectors from.
        seed: seed of the draws of "resample".

    Raises:
        ValueError: "mean" or "resample" without a reference.
    """

    def __init__(
        self, loaded: LoadedModel, how: Ablation, reference: Sequence[Run] = (), seed: int = 0
    ) -> None:
        if how != "zero" and not reference:
            raise ValueError(f"The ablation {how!r} needs the runs of other sentences: give at least one.")
        self.n_draws = N_DRAWS if how == "resample" else 1
        self._loaded, self._how, self._seed = loaded, how, seed
        self._reference = tuple(reference)
        self._means: dict[str, Tensor] = {}

    def off(self, places: Sequence[HeadPlace]) -> list[Variant]:
        """The variants in which these heads are off together, one per draw."""
        return [self._variant(places, draw) for draw in range(self.n_draws)]

    def _variant(self, places: Sequence[HeadPlace], draw: int) -> Variant:
        heads: dict[str, list[int]] = {}
        for place in places:
            heads.setdefault(place.path, []).append(place.head)
        return {path: self._edit(path, own, draw) for path, own in heads.items()}

    def _edit(self, path: str, heads: list[int], draw: int) -> Edit:
        if self._how == "mean" and path not in self._means:
            (edit,) = mean(self._reference).at(path, self._loaded).values()
            self._means[path] = edit(torch.zeros_like(self._reference[0].trace[path][..., :1, :]))
        if self._how == "zero":
            return partial(_set, heads=heads, value=0.0)
        if self._how == "mean":
            return partial(_set, heads=heads, value=self._means[path][:, heads])
        run = self._reference[(self._seed + draw) % len(self._reference)]
        (drawn,) = resample(run, seed=self._seed + draw).at(path, self._loaded).values()

        def exchange(z: Tensor) -> Tensor:
            z[:, heads] = drawn(z.clone())[:, heads]
            return z

        return exchange


def _set(z: Tensor, *, heads: list[int], value: float | Tensor) -> Tensor:
    z[:, heads] = value if isinstance(value, float) else value.to(z.device, z.dtype)
    return z


def head_effects(
    loaded: LoadedModel,
    run: Run,
    questions: Sequence[Question],
    switch: Switch,
    on_progress: OnProgress | None = None,
) -> Tensor:
    """How much each answer falls without each head: (heads, questions) float64; heads as in `head_places`.

    Positive where the head spoke for the output. This is the total effect: later layers may make up for the
    head.
    """
    places = head_places(loaded.model.config)
    variants = [variant for place in places for variant in switch.off([place])]
    return falls(loaded, run, variants, questions, on_progress, n_draws=switch.n_draws)


def answers_with_k_heads(
    loaded: LoadedModel,
    run: Run,
    question: Question,
    switch: Switch,
    order: Sequence[HeadPlace],
    on_progress: OnProgress | None = None,
) -> Tensor:
    """The answer if only the first k heads of an order are on, for k from 0 to all: (heads + 1,) float64."""
    variants = [variant for k in range(len(order) + 1) for variant in switch.off(order[k:])]
    answers = outcomes(loaded, run, variants, [question], on_progress)[:, 0]
    return answers.unflatten(0, (-1, switch.n_draws)).mean(dim=1)
