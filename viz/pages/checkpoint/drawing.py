"""The drawing of a model's architecture, generated from its configuration."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from transformer.analysis.architecture import attention_notes
from transformer.analysis.parts import Part, parts_of
from transformer.model.config import TransformerConfig
from viz.components.architecture import (
    ArchitectureBlock,
    ArchitectureStack,
    ArchitectureSublayer,
    BlockKind,
    architecture_view,
)
from viz.pages.shared.explain import computed_by
from viz.session import current_theme

NORMS = {"layer": "layer norm", "layer_unbiased": "layer norm", "rms": "RMS norm"}
_NORM_NOTES = {
    "layer": "Each vector minus its mean, divided by its standard deviation, times gamma, plus beta.",
    "layer_unbiased": "Each vector minus its mean, divided by its unbiased standard deviation plus eps, "
    "times gamma, plus beta.",
    "rms": "Each vector divided by the root mean square of its numbers, times gamma.",
}
_POSITIONS = {
    "sinusoidal": ("+ sines and cosines", "Sines and cosines of its position are added."),
    "learned": ("+ learned positions", "A learned vector for its position is added."),
    "relative": ("", "Positions come later: each self-attention adds a learned bias by distance."),
    "alibi": ("", "Positions come later: each self-attention lowers its scores in proportion to distance."),
    "rotary": ("", "Positions come later: each self-attention rotates its queries and keys."),
    "none": ("no positions", "The model does not know the order of the tokens."),
}
_IN_ATTENTION = {"relative": ", bias by distance", "alibi": ", ALiBi", "rotary": ", rotary positions"}
_ACTIVATIONS = {
    "relu": "ReLU",
    "gelu": "GELU",
    "gelu_tanh": "GELU (tanh)",
    "silu": "SiLU",
    "relu_squared": "squared ReLU",
}


def drawing(config: TransformerConfig) -> None:
    """Draw the architecture of a model."""
    architecture_view(
        stacks_of(config), colors=current_theme(), key="architecture", title="The model's architecture"
    )
    reads = (
        "The blue arrow is the encoder's output, from which cross-attention computes its keys and values. "
    )
    st.caption(
        "Vectors flow from bottom to top, one per token. A layer's blocks read the stream, and "
        "their output is added to it at each +. "
        f"{reads if config.kind == 'encoder-decoder' else ''}{unusual(config)}"
        "Click a block for its weights and their shapes."
    )
    computed_by(parts_of)


def unusual(config: TransformerConfig) -> str:
    """Say what the drawing can't show."""
    said = ""
    if config.parallel_residual:
        said += "In each layer attention and feed-forward read the same stream, in parallel. "
    if config.shared_layers:
        said += "All layers of a stack share the same weights. "
    if config.has_norms_before and not config.first_norm:
        said += "Layer 0 is drawn: all others have a norm before self-attention, too. "
    return said


def stacks_of(config: TransformerConfig) -> list[ArchitectureStack]:
    """The stacks of a model as columns, the encoder first."""
    drawn = _Drawn(config)
    return [
        drawn.stack(name)
        for name, n_layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers))
        if n_layers
    ]


class _Drawn:
    """Makes the blocks of one model."""

    def __init__(self, config: TransformerConfig) -> None:
        self.config = config
        self.parts = {part.path: part for part in _all(parts_of(config))}

    def stack(self, name: str) -> ArchitectureStack:
        config, is_encoder = self.config, name == "encoder"
        ends = not is_encoder or config.kind == "encoder-only"
        final = self._norms("final norm", f"{name}.final_norm")
        return ArchitectureStack(
            title=name,
            reads=self._reads(is_encoder),
            below=self._embedding("src_embedding" if is_encoder else "tgt_embedding"),
            layer=[
                self._sublayer(f"{name}.layers.0.{sublayer}")
                for sublayer in ("self_attn", "cross_attn", "feed_forward")
                if f"{name}.layers.0.{sublayer}" in self.parts
            ],
            n_layers=config.n_encoder_layers if is_encoder else config.n_decoder_layers,
            above=[*final, *(self._generator() if ends else ())],
            writes=self._writes() if ends else "",
        )

    def _reads(self, is_encoder: bool) -> str:
        if self.config.kind != "encoder-decoder":
            return "tokens"
        return "source tokens" if is_encoder else "target tokens so far"

    def _writes(self) -> str:
        if not self.config.has_generator:
            return "one vector per token"
        return "a token at each position" if self.config.kind == "encoder-only" else "the next token"

    def _embedding(self, path: str) -> list[ArchitectureBlock]:
        config = self.config
        positions, note = _POSITIONS[config.positions]
        by = f"√{config.d_model:,}" if config.embedding_scale is True else f"{config.embedding_factor:g}"
        scaled = f", times {by}" if config.embedding_scale else ""
        widened = f" One matrix then widens it to {config.d_model:,}." if config.d_embedding else ""
        shift = config.position_offset
        first = f" The first token gets position {shift}." if shift else ""
        about = (
            f"Each token's id becomes a vector of {config.embedding_width:,} numbers{scaled}. "
            f"{note}{first}{widened}"
        )
        if config.d_embedding:
            detail = f"{config.d_embedding:,} → {config.d_model:,}"
            positions = f"{positions}, {detail}" if positions else detail
        embedding = self._block("embedding", "embedding", path, detail=positions, about=about)
        return [embedding, *self._norms(NORMS[config.norm], f"{path}.norm")]

    def _sublayer(self, path: str) -> ArchitectureSublayer:
        norm = self._norms(NORMS[self.config.norm], f"{path}_norm")
        sublayer = self._feed_forward(path) if path.endswith("feed_forward") else self._attention(path)
        post_norm = self._norms(f"{NORMS[self.config.norm]} of the output", f"{path}_post_norm")
        if self.config.norms_the_stream:
            return ArchitectureSublayer([sublayer], norm)
        return ArchitectureSublayer([*norm, sublayer, *post_norm])

    def _attention(self, path: str) -> ArchitectureBlock:
        config = self.config
        is_cross = path.endswith("cross_attn")
        is_causal = path.startswith("decoder") and not is_cross
        looks = (
            "each position looks at the encoder's output"
            if is_cross
            else "each position looks at all of them"
        )
        looks = "each position looks at itself and those before it" if is_causal else looks
        grouped = config.n_kv_heads < config.n_heads
        shared = f" They share {config.n_kv_heads} heads of keys and values." if grouped else ""
        is_bare = config.has_norms_before and not config.first_norm and not is_cross
        without_norm = " Only layers after the first have a norm before it." if is_bare else ""
        normed = " Queries and keys have norms of their own." if config.query_key_norm else ""
        return self._block(
            "attention",
            "cross-attention" if is_cross else "causal self-attention" if is_causal else "self-attention",
            path,
            detail=f"{config.n_heads} heads of {config.d_head}"
            + (f", {config.n_kv_heads} of keys and values" if grouped else "")
            + ("" if is_cross else _IN_ATTENTION.get(config.positions, "")),
            about=f"In {config.n_heads} heads, {looks} and gathers their values.{shared}{normed}"
            f"{''.join(f' {said}' for said in attention_notes(config, path))}{without_norm}"
            f"{self._in_layer()}",
            reads=is_cross,
        )

    def _feed_forward(self, path: str) -> ArchitectureBlock:
        config = self.config
        activation = _ACTIVATIONS[config.activation]
        gate = ", times a second projection (gated)" if config.gated else ""
        n, active = config.n_experts, config.n_active_experts
        experts = f", {active} of {n} experts" if n else ""
        chosen = (
            f"A router chooses {active} of {n} feed-forwards, the experts, for each position and weights "
            "what they add. "
            if n
            else ""
        )
        return self._block(
            "feed-forward",
            "mixture of experts" if config.n_experts else "feed-forward",
            path,
            detail=f"{config.d_model:,} → {config.d_ff:,} → {config.d_model:,}, "
            f"{'gated ' if config.gated else ''}{activation}{experts}",
            about=f"{chosen}Each position separately: widened to {config.d_ff:,} numbers, through "
            f"{activation}{gate}, and back."
            + (
                " It reads the same stream as self-attention, in parallel."
                if config.parallel_residual
                else ""
            )
            + self._in_layer(),
        )

    def _in_layer(self) -> str:
        """Say what applies to every sublayer."""
        config = self.config
        weakened = ""
        if config.residual_scale != 1:
            weakened = f" Its output is multiplied by {config.residual_scale:g} before it is added."
        return weakened + (" All layers share the same weights." if config.shared_layers else "")

    def _generator(self) -> Iterator[ArchitectureBlock]:
        config = self.config
        if not config.has_generator:
            return
        if config.generator_transform:
            yield self._block(
                "generator",
                "dense and norm",
                "generator_transform",
                detail=_ACTIVATIONS[config.activation],
                about="One more layer before the generator.",
            )
        size = config.tgt_vocab_size or config.src_vocab_size
        tied = "Its matrix is the embedding's. " if config.tie_generator else ""
        yield self._block(
            "generator",
            "generator",
            "generator",
            detail=f"{size:,} tokens" + (", tied" if config.tie_generator else ""),
            about=f"A logit for each of {size:,} tokens; softmax turns them into probabilities. {tied}"
            + (f"A soft cap keeps them below {config.logits_soft_cap:g}." if config.logits_soft_cap else ""),
        )

    def _norms(self, label: str, path: str) -> list[ArchitectureBlock]:
        if path not in self.parts:
            return []
        return [self._block("norm", label, path, about=_NORM_NOTES[self.config.norm])]

    def _block(
        self,
        kind: BlockKind,
        label: str,
        path: str,
        *,
        detail: str = "",
        about: str = "",
        reads: bool = False,
    ) -> ArchitectureBlock:
        part = self.parts[path]
        own_block = self.parts.get(f"{path}.norm") if kind == "embedding" else None
        n_parameters = part.n_parameters - (own_block.n_parameters if own_block else 0)
        weights = [one for one in _weights(part) if not (own_block and one[0].startswith("norm."))]
        return ArchitectureBlock(kind, label, detail, about, path, n_parameters, weights, reads)


def _all(parts: tuple[Part, ...]) -> Iterator[Part]:
    for part in parts:
        yield part
        yield from _all(part.parts)


def _weights(part: Part) -> list[tuple[str, str]]:
    """Names, relative to the part, and shapes of all weights in it."""
    return [
        (f"{inner.path}.{name}".removeprefix(f"{part.path}."), " × ".join(f"{size:,}" for size in shape))
        for inner in _all((part,))
        for name, shape in inner.weights
    ]
