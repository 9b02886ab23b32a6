"""The two stacks of layers (paper, section 3.1, figure 1)."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from transformer.model.attention import NO_POSITIONS, PositionInfo
from transformer.model.config import TransformerConfig
from transformer.model.layers import DecoderLayer, DecoderLayerCache, EncoderLayer
from transformer.model.masks import local_mask
from transformer.model.normalization import norm_of
from transformer.model.positions import LinearBias, relative_bias_of, rotary_wavelengths, rotation
from transformer.model.trace import NO_TAP, Stack, Tap


class _Stack(nn.Module):
    """Layers, positional information for their self-attention, and a final norm."""

    def __init__(
        self,
        config: TransformerConfig,
        stack: Stack,
        layer: Callable[[TransformerConfig], nn.Module],
        n_layers: int,
    ) -> None:
        super().__init__()
        is_relative = config.positions == "relative" and not config.relative_bias_per_layer
        self.relative_bias = relative_bias_of(config, both_ways=stack == "encoder") if is_relative else None
        self.linear_bias = LinearBias(config.n_heads) if config.positions == "alibi" else None
        self.windows = [config.attention_window(stack, i) for i in range(n_layers)]
        self.bases = [config.rotary_base(stack, i) for i in range(n_layers)]
        self.wavelengths = {base: rotary_wavelengths(config, base) for base in self.bases if base}
        n_distinct = 1 if config.shared_layers else n_layers
        self.layers = nn.ModuleList([layer(config) for _ in range(n_distinct)] * (n_layers // n_distinct))
        if not config.first_norm and n_layers:
            self.layers[0].register_module("self_attn_norm", None)
        self.final_norm = norm_of(config) if config.ends_with_norm(stack) else None

    def position_info(self, x: Tensor, start: int = 0) -> list[PositionInfo]:
        """Positional information for the tokens x (B, T, D) from position `start` on, for each layer."""
        bias = self.linear_bias if self.relative_bias is None else self.relative_bias
        if bias is not None:
            return [PositionInfo(bias=bias(start, x.shape[1]))] * len(self.layers)
        by_base = {
            base: PositionInfo(rotation=rotation(start, x.shape[1], lengths, like=x))
            for base, lengths in self.wavelengths.items()
        }
        return [by_base.get(base, NO_POSITIONS) for base in self.bases]

    def masks(self, mask: Tensor | None, x: Tensor, start: int = 0) -> list[Tensor | None]:
        """Each layer's mask: `mask`, and that of the layer's window if the keys reach beyond it."""
        n_queries, n_keys = x.shape[1], start + x.shape[1]
        local = {
            window: local_mask(window, n_queries, n_keys, x.device)
            for window in set(self.windows)
            if 0 < window < n_keys
        }
        if mask is not None:
            local = {window: near & mask for window, near in local.items()}
        return [local.get(window, mask) for window in self.windows]

    def finish(self, x: Tensor, tap: Tap) -> Tensor:
        """Apply the final norm, if any."""
        return x if self.final_norm is None else self.final_norm(x, tap.at("final_norm"))


class Encoder(_Stack):
    """N encoder layers (with shared_layers one layer N times), then the final norm, if any."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config, "encoder", EncoderLayer, config.n_encoder_layers)

    def forward(self, x: Tensor, mask: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, S, D) -> memory (B, S, D); mask (B, 1, 1, S)."""
        positions, masks = self.position_info(x), self.masks(mask, x)
        for i, layer in enumerate(self.layers):
            x = layer(x, masks[i], tap.at("layers").at(i), positions[i])
        return self.finish(x, tap)


class Decoder(_Stack):
    """N decoder layers (with shared_layers one layer N times), then the final norm, if any."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config, "decoder", DecoderLayer, config.n_decoder_layers)

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

        A mask of None masks nothing.
        """
        start = 0 if caches is None else len(caches[0].self_attn)
        positions, masks = self.position_info(x, start), self.masks(mask, x, start)
        for i, layer in enumerate(self.layers):
            cache = None if caches is None else caches[i]
            x = layer(x, masks[i], memory, memory_mask, tap.at("layers").at(i), cache, positions[i])
        return self.finish(x, tap)
