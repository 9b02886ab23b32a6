"""Ways through models of every kind and the shipped ones: unequal lengths, the last layer and head."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tests.support.kinds import KINDS
from transformer.checkpoints.opening import open_model
from transformer.loaded import LoadedModel
from transformer.model.trace import Stack
from transformer.run import Run, run_sentence
from viz.pages.step_by_step.stages.walk import first_row
from viz.pages.step_by_step.stages.way import Way

SHIPPED = ("toy-en-it", "en-it")
TEXT = "Yesterday I saw the dog."
TEXTS = dict.fromkeys(SHIPPED, "My sister is younger than your brother.")
MODELS = (*KINDS, *SHIPPED)
TARGETS = {"relative": "the cat saw a dog", "languages": "ho visto il cane", "stacks": "il gatto vedo"}
"""Forced targets for models whose own target would be almost empty."""


@cache
def model_of(name: str) -> LoadedModel:
    return KINDS[name]() if name in KINDS else open_model(name)


@cache
def run_of(name: str) -> Run:
    return run_sentence(model_of(name), TEXTS.get(name, TEXT), TARGETS.get(name, ""))


def way_of(name: str, stack: Stack, layer: int = -1, head: int = -1, step: int = 0) -> Way:
    """A detailed way through a layer and a head; negative numbers count from the end."""
    loaded = model_of(name)
    config = loaded.model.config
    n_layers = config.n_encoder_layers if stack == "encoder" else config.n_decoder_layers
    way = Way(loaded, run_of(name), stack, layer % n_layers, head % config.n_heads, 0)
    return Way(loaded, way.run, stack, way.layer, way.head, first_row(way) + step)


def _sides() -> Iterator[tuple[str, Stack]]:
    """Pairs of every model and each of its stacks."""
    for name in MODELS:
        config = model_of(name).model.config
        if config.n_encoder_layers:
            yield name, "encoder"
        if config.n_decoder_layers:
            yield name, "decoder"


SIDES = list(_sides())
