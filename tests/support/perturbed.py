"""Small models whose every weight counts: fresh ones have biases of 0 and norms that change nothing."""

from __future__ import annotations

import torch

from transformer.loaded import LoadedModel


def perturbed(loaded: LoadedModel, size: float = 0.3, seed: int = 0) -> LoadedModel:
    """Add noise to all parameters of a model that nothing else uses; returns it."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in loaded.model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=size)
    return loaded
