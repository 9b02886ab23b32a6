"""Models with random weights, to show what an architecture does before training."""

from __future__ import annotations

from dataclasses import replace

import torch

from transformer.loaded import freeze
from transformer.model.config import NormPosition, TransformerConfig
from transformer.model.transformer import Transformer


def random_model(config: TransformerConfig, seed: int, device: torch.device) -> Transformer:
    """A freshly initialised, frozen model; a seed gives the same weights on every device."""
    return freeze(Transformer(config, torch.Generator().manual_seed(seed)).to(device))


def with_norms(config: TransformerConfig, norm_position: NormPosition) -> TransformerConfig:
    """The same configuration with another norm position.

    Pre-norm gets a final norm, which the sum of the sublayers needs; post-norm has none. Sublayers are
    sequential and all of them normed, because only pre-norm can have them in parallel or leave out a norm.
    """
    return replace(
        config,
        norm_position=norm_position,
        final_norm=norm_position not in ("post", "none"),
        parallel_residual=False,
        first_norm=True,
    )
