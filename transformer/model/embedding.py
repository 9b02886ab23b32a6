"""Embeds token ids as the vectors that enter the first layer (paper, sections 3.4 and 3.5)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.model.config import TransformerConfig
from transformer.model.dropout import Dropout
from transformer.model.normalization import norm_of
from transformer.model.positions import LearnedPositions, SinusoidalPositions
from transformer.model.trace import NO_TAP, Tap


class Embedding(nn.Module):
    """x = embedding(token) * sqrt(d_model) + position.

    The configuration may change the factor, leave out positions, add the first segment's vector, normalise
    the sum, and project it to d_model.
    """

    def __init__(self, vocab_size: int, config: TransformerConfig) -> None:
        super().__init__()
        width = config.embedding_width
        self.weight = nn.Parameter(torch.empty(vocab_size, width))
        self.scale = config.embedding_factor
        self.segments = nn.Parameter(torch.empty(config.n_segments, width)) if config.n_segments else None
        self.positions = _positions(config)
        self.norm = norm_of(config, width) if config.embedding_norm else None
        self.projection = nn.Linear(width, config.d_model) if config.d_embedding else None
        self.dropout = Dropout(config.dropout)

    def forward(self, ids: Tensor, tap: Tap = NO_TAP, start: int = 0) -> Tensor:
        """Embed ids (B, T), the first of which is at position `start`: (B, T, D).

        The tap sees tokens (B, T, D: scaled), segments (1, 1, D), positions (1, T, D), unprojected (B, T, D:
        their sum, after any norm) and out (B, T, D: the first layer's input), where present. With a
        projection, all except out have width d_embedding.
        """
        x = tap("tokens", functional.embedding(ids, self.weight) * self.scale)
        if self.segments is not None:
            x = x + tap("segments", self.segments[None, :1])
        if self.positions is not None:
            x = x + tap("positions", self.positions(start, ids.shape[1])[None])
        if self.norm is not None:
            x = self.norm(x, tap.at("norm"))
        if self.projection is not None:
            x = self.projection(tap("unprojected", x))
        return self.dropout(tap("out", x))


def _positions(config: TransformerConfig) -> SinusoidalPositions | LearnedPositions | None:
    """The encoding that is added to the embeddings, if any."""
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config)
    return LearnedPositions(config.max_len, config.embedding_width) if config.positions == "learned" else None
