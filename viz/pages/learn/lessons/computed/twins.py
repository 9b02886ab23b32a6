"""Untrained twins of the reader's model, which show what training changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from transformer.analysis.attention_maps import STACKS
from transformer.analysis.parts import parts_of, total
from transformer.checkpoints.random_model import random_model, with_norms
from transformer.loaded import LoadedModel
from transformer.model.config import NormPosition, TransformerConfig
from viz.pages.learn.lessons.format.subject import Subject

T = TypeVar("T")
SEED = 0
DEPTH = 12
"""Layers of a deep twin: two or three would hardly show the effect of depth."""
MOST_PARAMETERS = 100_000_000
"""Larger models would fill the server's memory."""


def random_twin(subject: Subject, config: TransformerConfig) -> LoadedModel:
    """A model of a given configuration with random weights, and with the reader's coders and device."""
    device = next(subject.loaded.model.parameters()).device
    return subject.loaded.with_weights(random_model(config, SEED, device))


def deep_twin(subject: Subject, place: NormPosition) -> LoadedModel:
    """A twin as wide as the reader's model, with `DEPTH` layers per stack and the given norm position."""
    return random_twin(subject, _deep(subject.config, place))


def too_large(subject: Subject, *, deep: bool) -> str:
    """Why the model is too large for a twin; empty if it isn't."""
    n = total(parts_of(_deep(subject.config, "pre") if deep else subject.config))
    if n <= MOST_PARAMETERS:
        return ""
    return (
        f"This needs a random model of {n / 1e6:.0f} million parameters, which would take too much of the "
        "server's memory. Choose a smaller model in the sidebar."
    )


def _deep(config: TransformerConfig, place: NormPosition) -> TransformerConfig:
    return replace(
        with_norms(config, place),
        position_bases=_repeated(config, config.position_bases),
        attention_windows=_repeated(config, config.attention_windows),
        n_encoder_layers=DEPTH if config.n_encoder_layers else 0,
        n_decoder_layers=DEPTH if config.n_decoder_layers else 0,
    )


def _repeated(config: TransformerConfig, values: tuple[T, ...]) -> tuple[T, ...]:
    """The values of each stack's layers, repeated for `DEPTH` layers."""
    own = [config.of_stack(values, stack) for stack in STACKS]
    return tuple(some[layer % len(some)] for some in own if some for layer in range(DEPTH))
