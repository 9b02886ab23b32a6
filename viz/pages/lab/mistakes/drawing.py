"""Draw a mistake from a seed, for a reader to identify."""

from __future__ import annotations

import torch

from transformer.model.config import TransformerConfig
from viz.pages.lab.mistakes import MISTAKES
from viz.pages.lab.mistakes.mistake import Level, Mistake


def fitting(config: TransformerConfig) -> list[Mistake]:
    """The mistakes that can be made in a model, in the order of the list."""
    return [mistake for mistake in MISTAKES.values() if not mistake.unfit(config)]


def guessable(config: TransformerConfig) -> list[Mistake]:
    """The mistakes that change a run's numbers; misreading numbers leaves no trace in them."""
    return [mistake for mistake in fitting(config) if mistake.group != "reading"]


def drawn(seed: int, level: Level, config: TransformerConfig) -> Mistake | None:
    """Draw one of a level's mistakes, or of all levels' if it has fewer than two; None if no mistake fits.

    A seed always draws the same mistake for the same kind of model. Successive seeds go through all mistakes
    before one is repeated.
    """
    fit = guessable(config)
    offered = [mistake for mistake in fit if mistake.level == level]
    offered = offered if len(offered) > 1 else fit
    if not offered:
        return None
    round_, place = divmod(seed, len(offered))
    order = torch.randperm(len(offered), generator=torch.Generator().manual_seed(round_))
    return offered[int(order[place])]
