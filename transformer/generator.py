"""What may stand between the last hidden states and the generator."""

from __future__ import annotations

from torch import Tensor, nn

from transformer.config import TransformerConfig
from transformer.feed_forward import ACTIVATION_FUNCTIONS
from transformer.normalization import norm_of
from transformer.trace import NO_TAP, Tap


class GeneratorTransform(nn.Module):
    """Norm(activation(dense(x))): the head of masked language models (Devlin et al. 2018)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.activation = ACTIVATION_FUNCTIONS[config.activation]
        self.norm = norm_of(config)

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, T, D) -> (B, T, D). The tap sees hidden (after the activation), then the norm's."""
        hidden: Tensor = tap("hidden", self.activation(self.dense(x)))
        return self.norm(hidden, tap.at("norm"))
