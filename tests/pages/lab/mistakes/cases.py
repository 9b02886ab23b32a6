"""The models and runs on which mistakes are made: small ones of every kind, and the two shipped models."""

from __future__ import annotations

from functools import cache

import torch

from tests.support.kinds import KINDS
from transformer.checkpoints.folder import open_config
from transformer.checkpoints.opening import open_model
from transformer.loaded import LoadedModel
from transformer.run import run_sentence
from viz.pages.lab.mistakes import MISTAKES, Case

TRAINED = ("toy-en-it", "en-it")
SENTENCES = ("She sleeps.", "I see the dog.", "Yesterday the cat saw a dog and the small bird sang.")
"""Sentences of unequal lengths."""


@cache
def model(kind: str) -> LoadedModel:
    """A model of `KINDS`, or a shipped one, by name."""
    return KINDS[kind]() if kind in KINDS else open_model(kind)


@cache
def case(kind: str, text: str = SENTENCES[1]) -> Case:
    """A sentence in such a model."""
    return Case(model(kind), run_sentence(model(kind), text))


def fitting(kinds: tuple[str, ...]) -> list[tuple[str, str]]:
    """Pairs of a kind of model and the name of a mistake that fits it."""
    return [
        (kind, name)
        for kind in kinds
        for name, mistake in MISTAKES.items()
        if not mistake.unfit(open_config(kind) if kind in TRAINED else model(kind).model.config)
    ]


def fingerprint(loaded: LoadedModel) -> list[torch.Tensor]:
    """A copy of every parameter and buffer of the model."""
    return [tensor.clone() for tensor in (*loaded.model.parameters(), *loaded.model.buffers())]
