"""Encoder and decoder layers (paper, section 3.1, figure 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor, nn

from transformer.model.attention import NO_POSITIONS, MultiHeadAttention, PositionInfo
from transformer.model.cache import KeyValueCache
from transformer.model.config import TransformerConfig
from transformer.model.dropout import Dropout
from transformer.model.feed_forward import FeedForward, MixtureOfExperts
from transformer.model.normalization import Norm, head_norm_of, norm_of
from transformer.model.positions import RelativeBias, relative_bias_of
from transformer.model.trace import NO_TAP, Tap


@dataclass
class DecoderLayerCache:
    """The keys and values of one decoder layer."""

    self_attn: KeyValueCache = field(default_factory=KeyValueCache)
    cross_attn: KeyValueCache = field(default_factory=KeyValueCache)


class _ResidualLayer(nn.Module):
    """Adds each sublayer's output to the residual stream, with norms where norm_position says."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm_position = config.norm_position
        self.residual_scale = config.residual_scale
        self.dropout = Dropout(config.dropout)

    def residual(
        self,
        x: Tensor,
        name: str,
        tap: Tap,
        sublayer: Callable[[Tensor], Tensor],
        stream: Tensor | None = None,
    ) -> Tensor:
        """Post-norm: LayerNorm(x + Dropout(Sublayer(x))), section 5.4.

        Pre-norm: x + Dropout(Sublayer(LayerNorm(x))). Output: x + Dropout(LayerNorm(Sublayer(x))). Both:
        x + Dropout(LayerNorm(Sublayer(LayerNorm(x)))). None: x + Dropout(Sublayer(x)).

        Args:
            x: the sublayer's input (B, T, D).
            name: name of the sublayer; {name}_norm is the norm of its input or of the sum, if any, and
                {name}_post_norm that of its output, if any.
            tap: tap of the layer.
            sublayer: (B, T, D) -> (B, T, D).
            stream: the stream that the output is added to; x if None.
        """
        norm: Norm | None = getattr(self, f"{name}_norm")
        post_norm: Norm | None = getattr(self, f"{name}_post_norm")
        norm_tap = tap.at(f"{name}_norm")
        if norm is not None and self.norm_position == "post":
            return norm(x + self.scaled(sublayer(x)), norm_tap)
        out = sublayer(x if norm is None else norm(x, norm_tap))
        if post_norm is not None:
            out = post_norm(out, tap.at(f"{name}_post_norm"))
        return (x if stream is None else stream) + self.scaled(out)

    def scaled(self, out: Tensor) -> Tensor:
        """Dropout(out) * residual_scale."""
        out = self.dropout(out)
        return out if self.residual_scale == 1 else out * self.residual_scale


def _norms(config: TransformerConfig) -> tuple[Norm | None, Norm | None]:
    """The norm of a sublayer's input or of the sum, and the norm of its output; None for none."""
    has_norm = config.has_norms_before or config.norms_the_stream
    return norm_of(config) if has_norm else None, norm_of(config) if config.norms_outputs else None


def _attention(config: TransformerConfig, relative_bias: RelativeBias | None = None) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model,
        config.n_heads,
        bias=config.bias if config.attention_bias is None else config.attention_bias,
        n_kv_heads=config.n_kv_heads,
        d_head=config.d_head,
        scale=config.attention_factor,
        soft_cap=config.attention_soft_cap,
        transposed=config.merge_heads == "transposed",
        q_norm=head_norm_of(config, config.n_heads),
        k_norm=head_norm_of(config, config.n_kv_heads),
        norms_across_heads=config.query_key_norm == "across_heads",
        relative_bias=relative_bias,
    )


def _own_relative_bias(config: TransformerConfig, *, both_ways: bool) -> RelativeBias | None:
    return relative_bias_of(config, both_ways=both_ways) if config.relative_bias_per_layer else None


def _feed_forward(config: TransformerConfig) -> FeedForward | MixtureOfExperts:
    def feed_forward() -> FeedForward:
        return FeedForward(
            config.d_model, config.d_ff, activation=config.activation, bias=config.bias, gated=config.gated
        )

    if not config.n_experts:
        return feed_forward()
    experts = [feed_forward() for _ in range(config.n_experts)]
    return MixtureOfExperts(config.d_model, experts, config.n_active_experts)


class EncoderLayer(_ResidualLayer):
    """resid_pre -> self-attention -> resid_mid -> feed-forward -> resid_post."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.self_attn = _attention(config, _own_relative_bias(config, both_ways=True))
        self.self_attn_norm, self.self_attn_post_norm = _norms(config)
        self.feed_forward = _feed_forward(config)
        self.feed_forward_norm, self.feed_forward_post_norm = _norms(config)

    def forward(
        self, x: Tensor, mask: Tensor | None, tap: Tap = NO_TAP, positions: PositionInfo = NO_POSITIONS
    ) -> Tensor:
        """(B, K, D) -> (B, K, D); mask (B, 1, 1 or K, K), positions for self-attention."""

        def self_attention(x: Tensor) -> Tensor:
            return self.self_attn(x, x, mask, tap.at("self_attn"), positions=positions)

        def feed_forward(x: Tensor) -> Tensor:
            return self.feed_forward(x, tap.at("feed_forward"))

        x = tap("resid_pre", x)
        x = self.residual(x, "self_attn", tap, self_attention)
        x = tap("resid_mid", x)
        x = self.residual(x, "feed_forward", tap, feed_forward)
        return tap("resid_post", x)


class DecoderLayer(_ResidualLayer):
    """resid_pre -> self-attention -> resid_mid -> cross-attention -> resid_mid_cross -> ... -> resid_post.

    Without an encoder there is no cross-attention, and the feed-forward reads resid_mid; with
    parallel_residual it reads resid_pre.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.parallel = config.parallel_residual
        self.self_attn = _attention(config, _own_relative_bias(config, both_ways=False))
        self.self_attn_norm, self.self_attn_post_norm = _norms(config)
        if config.kind == "encoder-decoder":
            self.cross_attn = _attention(config)
            self.cross_attn_norm, self.cross_attn_post_norm = _norms(config)
        self.feed_forward = _feed_forward(config)
        self.feed_forward_norm, self.feed_forward_post_norm = _norms(config)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tap: Tap = NO_TAP,
        cache: DecoderLayerCache | None = None,
        positions: PositionInfo = NO_POSITIONS,
    ) -> Tensor:
        """One layer over x (B, Q, D).

        Args:
            x: (B, Q, D).
            mask: (B, 1, Q, K) for self-attention, causal and padding; None to mask nothing.
            memory: (B, S, D), the encoded source; or (B / n, S, D), where each row serves n rows of x.
            memory_mask: (B, 1, 1, S), masks the source's padding; None to mask nothing.
            tap: sees the stream and, through its scopes, every submodule.
            cache: keys and values of earlier steps; x then has only the newest tokens.
            positions: for self-attention.

        Returns:
            (B, Q, D).
        """
        self_cache, cross_cache = (None, None) if cache is None else (cache.self_attn, cache.cross_attn)

        def self_attention(x: Tensor) -> Tensor:
            return self.self_attn(x, x, mask, tap.at("self_attn"), self_cache, positions)

        def cross_attention(x: Tensor) -> Tensor:
            assert memory is not None
            not_yet_cached = memory if cross_cache is None else memory[:, len(cross_cache) :]
            by_source = x.reshape(len(memory), -1, x.shape[-1])  # one row with the n targets of a source
            out = self.cross_attn(by_source, not_yet_cached, memory_mask, tap.at("cross_attn"), cross_cache)
            return out.view_as(x)

        def feed_forward(x: Tensor) -> Tensor:
            return self.feed_forward(x, tap.at("feed_forward"))

        x = resid_pre = tap("resid_pre", x)
        x = self.residual(x, "self_attn", tap, self_attention)
        x = tap("resid_mid", x)
        if memory is not None:
            x = self.residual(x, "cross_attn", tap, cross_attention)
            x = tap("resid_mid_cross", x)
        x = self.residual(resid_pre if self.parallel else x, "feed_forward", tap, feed_forward, stream=x)
        return tap("resid_post", x)
