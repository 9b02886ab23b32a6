"""Untrained models beside the reader's own: what is there before any training."""

from __future__ import annotations

from dataclasses import replace

import torch

from transformer.analysis.parts import parts_of, total
from transformer.checkpoints.folder import LoadedModel, freeze
from transformer.model.config import NormPosition, TransformerConfig
from transformer.model.transformer import Transformer
from viz.lessons.subject import Subject

SEED = 0
DEPTH = 12
"""Layers of a deep twin: in two or three layers hardly anything is seen of what happens in many."""
MOST_PARAMETERS = 100_000_000
"""Larger models would fill the server's memory."""


def deep_twin(subject: Subject, place: NormPosition) -> LoadedModel:
    """A random model as wide as the reader's, with `DEPTH` layers a stack and norms at a place."""
    config, device = _deep(subject.config, place), next(subject.loaded.model.parameters()).device
    model = Transformer(config, torch.Generator().manual_seed(SEED)).to(device)
    return replace(subject.loaded, model=freeze(model))


def too_large(subject: Subject, *, deep: bool) -> str:
    """Why no random model is made beside a large one; empty where there is no reason."""
    n = total(parts_of(_deep(subject.config, "pre") if deep else subject.config))
    if n <= MOST_PARAMETERS:
        return ""
    return (
        f"This needs a random model of {n / 1e6:.0f} million parameters, which would take too much of the "
        "server's memory. Choose a smaller model in the sidebar."
    )


def _deep(config: TransformerConfig, place: NormPosition) -> TransformerConfig:
    """Pre-norm gets the final norm that its sum needs."""
    return replace(
        config,
        norm_position=place,
        final_norm=place == "pre",
        n_encoder_layers=DEPTH if config.n_encoder_layers else 0,
        n_decoder_layers=DEPTH if config.n_decoder_layers else 0,
    )
