"""The two stacks of layers (paper, section 3.1, figure 1)."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn

from transformer.model.attention import NO_POSITIONS, PositionInfo
from transformer.model.config import TransformerConfig
from transformer.model.layers import DecoderLayer, DecoderLayerCache, EncoderLayer
from transformer.model.normalization import norm_of
from transformer.model.positions import RelativeBias, rotary_wavelengths, rotation
from transformer.model.trace import NO_TAP, Stack, Tap


class _Stack(nn.Module):
    """What both stacks share: layers, positions that self-attention is told in each, and a final norm."""

    def __init__(self, config: TransformerConfig, stack: Stack, layers: Iterable[nn.Module]) -> None:
        super().__init__()
        self.relative_bias = (
            RelativeBias(
                config.n_heads,
                config.n_position_buckets,
                config.max_position_distance,
                both_ways=stack == "encoder",
            )
            if config.positions == "relative"
            else None
        )
        self.wavelengths = rotary_wavelengths(config) if config.positions == "rotary" else None
        self.layers = nn.ModuleList(layers)
        self.final_norm = norm_of(config) if config.ends_with_norm(stack) else None

    def position_info(self, x: Tensor, start: int = 0) -> PositionInfo:
        """Where tokens x (B, T, D) stand whose first is at position `start`."""
        if self.relative_bias is not None:
            return PositionInfo(bias=self.relative_bias(start, x.shape[1]))
        if self.wavelengths is not None:
            return PositionInfo(rotation=rotation(start, x.shape[1], self.wavelengths, like=x))
        return NO_POSITIONS

    def finish(self, x: Tensor, tap: Tap) -> Tensor:
        """The final norm, where there is one."""
        return x if self.final_norm is None else self.final_norm(x, tap.at("final_norm"))


class Encoder(_Stack):
    """N encoder layers, and a final norm where the configuration has one."""

    def __init__(self, config: TransformerConfig) -> None:
        layers = (EncoderLayer(config) for _ in range(config.n_encoder_layers))
        super().__init__(config, "encoder", layers)

    def forward(self, x: Tensor, mask: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, S, D) -> memory (B, S, D); mask (B, 1, 1, S)."""
        positions = self.position_info(x)
        for i, layer in enumerate(self.layers):
            x = layer(x, mask, tap.at("layers").at(i), positions)
        return self.finish(x, tap)


class Decoder(_Stack):
    """N decoder layers, and a final norm where the configuration has one."""

    def __init__(self, config: TransformerConfig) -> None:
        layers = (DecoderLayer(config) for _ in range(config.n_decoder_layers))
        super().__init__(config, "decoder", layers)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tap: Tap = NO_TAP,
        caches: list[DecoderLayerCache] | None = None,
    ) -> Tensor:
        """(B, T, D) -> (B, T, D); mask (B, 1, T, K), memory (B, S, D), memory_mask (B, 1, 1, S).

        A mask that closes nothing may be left out (None).
        """
        positions = self.position_info(x, 0 if caches is None else len(caches[0].self_attn))
        for i, layer in enumerate(self.layers):
            cache = None if caches is None else caches[i]
            x = layer(x, mask, memory, memory_mask, tap.at("layers").at(i), cache, positions)
        return self.finish(x, tap)
