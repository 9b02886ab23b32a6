"""From token ids to the vectors that enter the first layer (paper, sections 3.4 and 3.5)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.config import TransformerConfig
from transformer.dropout import Dropout
from transformer.positions import LearnedPositions, SinusoidalPositions
from transformer.trace import NO_TAP, Tap


class Embedding(nn.Module):
    """x = embedding(token) * sqrt(d_model) + position(place in the sentence)."""

    def __init__(self, vocab_size: int, config: TransformerConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, config.d_model))
        self.scale = math.sqrt(config.d_model)
        self.positions: nn.Module = (
            SinusoidalPositions(config.max_len, config.d_model, config.position_base)
            if config.positions == "sinusoidal"
            else LearnedPositions(config.max_len, config.d_model)
        )
        self.dropout = Dropout(config.dropout)

    def forward(self, ids: Tensor, tap: Tap = NO_TAP, start: int = 0) -> Tensor:
        """Embed ids (B, T), whose first token stands at position `start`, as (B, T, D).

        The tap sees tokens (B, T, D: scaled), positions (1, T, D) and out (B, T, D: their sum).
        """
        tokens = tap("tokens", functional.embedding(ids, self.weight) * self.scale)
        positions = tap("positions", self.positions(start, ids.shape[1])[None])
        return self.dropout(tap("out", tokens + positions))
