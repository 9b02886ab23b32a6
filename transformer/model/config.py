"""The configuration of a Transformer: frozen, validated, with presets."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeVar

from transformer.model.choices import Choices
from transformer.model.choices import Norm as Norm
from transformer.model.choices import NormPosition as NormPosition
from transformer.model.choices import SinusoidLayout as SinusoidLayout
from transformer.model.config_checks import NORM_POSITIONS as NORM_POSITIONS
from transformer.model.config_checks import PER_LAYER as PER_LAYER
from transformer.model.config_checks import ConfigError as ConfigError
from transformer.model.config_checks import check

Kind = Literal["encoder-decoder", "encoder-only", "decoder-only"]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(Choices):
    """Sizes and choices of a Transformer, explained in `Choices`.

    Raises:
        ConfigError: for impossible values.
    """

    def __post_init__(self) -> None:
        """Check the values and fill in derived ones, so that equal models have equal configurations."""
        check(self)
        object.__setattr__(self, "d_head", self.d_head or self.d_model // self.n_heads)
        object.__setattr__(self, "n_kv_heads", self.n_kv_heads or self.n_heads)
        if self.d_embedding == self.d_model:
            object.__setattr__(self, "d_embedding", 0)
        for name in ("attention_scale", "embedding_scale", "logits_scale"):
            if getattr(self, name) == 1 and getattr(self, name) is not True:  # in Python 1.0 == True
                object.__setattr__(self, name, False)

    @property
    def kind(self) -> Kind:
        """The kind of model, by the stacks that it has."""
        if self.n_decoder_layers == 0:
            return "encoder-only"
        return "decoder-only" if self.n_encoder_layers == 0 else "encoder-decoder"

    @property
    def embedding_width(self) -> int:
        """Width of the embeddings, before any projection to d_model."""
        return self.d_embedding or self.d_model

    @property
    def generator_width(self) -> int:
        """Width of the generator's input."""
        return self.embedding_width if self.generator_transform else self.d_model

    @property
    def attention_factor(self) -> float:
        """Factor of the products of queries and keys."""
        return _factor(self.attention_scale, 1 / math.sqrt(self.d_head))

    @property
    def embedding_factor(self) -> float:
        """Factor of the embeddings."""
        return _factor(self.embedding_scale, math.sqrt(self.d_model))

    @property
    def logits_factor(self) -> float:
        """Factor of the hidden states before the generator."""
        return _factor(self.logits_scale, 1 / math.sqrt(self.d_model))

    @property
    def has_norms_before(self) -> bool:
        """True if sublayers read the residual stream through a norm."""
        return self.norm_position in ("pre", "both")

    def reads_normed(self, layer: int, sublayer: str) -> bool:
        """True if a layer's sublayer, such as "self_attn", reads the residual stream through a norm."""
        is_first = layer == 0 and sublayer == "self_attn"
        return self.has_norms_before and (self.first_norm or not is_first)

    @property
    def norms_outputs(self) -> bool:
        """True if a sublayer's output is normed before it is added to the residual stream."""
        return self.norm_position in ("output", "both")

    @property
    def has_norms(self) -> bool:
        """False if nothing in the model is normed."""
        others = (self.final_norm, self.embedding_norm, self.query_key_norm, self.generator_transform)
        return self.norm_position != "none" or any(others)

    @property
    def norms_the_stream(self) -> bool:
        """True if the residual stream itself is normed after each sum."""
        return self.norm_position == "post"

    @property
    def has_position_bias(self) -> bool:
        """True if self-attention adds a bias by distance to its scores."""
        return self.positions in ("relative", "alibi")

    def rotary_base(self, stack: Literal["encoder", "decoder"], layer: int) -> float:
        """The base of a layer's rotary positions; 0 for a layer without rotation."""
        if self.positions != "rotary":
            return 0
        bases = self.of_stack(self.position_bases, stack)
        return bases[layer] if bases else self.position_base

    def attention_window(self, stack: Literal["encoder", "decoder"], layer: int) -> int:
        """The window of a layer's self-attention; 0 if it sees all keys."""
        windows = self.of_stack(self.attention_windows, stack)
        return windows[layer] if windows else 0

    def of_stack(self, values: tuple[T, ...], stack: Literal["encoder", "decoder"]) -> tuple[T, ...]:
        """A stack's part of values that are given for each layer, the encoder's first."""
        n = self.n_encoder_layers
        return values[:n] if stack == "encoder" else values[n:]

    def ends_with_norm(self, stack: Literal["encoder", "decoder"]) -> bool:
        """True if the stack has a final norm."""
        return self.final_norm in (True, stack)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values for JSON; derived values are 0."""
        values = asdict(self)
        if self.d_head * self.n_heads == self.d_model:
            values["d_head"] = 0
        if self.n_kv_heads == self.n_heads:
            values["n_kv_heads"] = 0
        return values | {name: list(values[name]) for name in PER_LAYER}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TransformerConfig:
        """The inverse of `to_dict`; raises ConfigError for an unknown or missing field."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ConfigError(f"The configuration has unknown fields: {', '.join(unknown)}. Remove them.")
        lists = {name: values.get(name) for name in PER_LAYER}
        values = values | {name: tuple(given) for name, given in lists.items() if isinstance(given, list)}
        try:
            return cls(**values)
        except TypeError as error:
            raise ConfigError(f"The configuration is incomplete: {error}. Add what is missing.") from error


PRESETS: dict[str, dict[str, Any]] = {
    "toy": {
        "d_model": 128,
        "n_heads": 4,
        "n_encoder_layers": 2,
        "n_decoder_layers": 2,
        "d_ff": 512,
        "max_len": 128,
    },
    "small": {
        "d_model": 256,
        "n_heads": 4,
        "n_encoder_layers": 4,
        "n_decoder_layers": 4,
        "d_ff": 1024,
        "max_len": 256,
    },
    "base": {
        "d_model": 512,
        "n_heads": 8,
        "n_encoder_layers": 6,
        "n_decoder_layers": 6,
        "d_ff": 2048,
        "max_len": 512,
    },
}
"""Sizes by name. `base` is the paper's base model (table 3)."""


def _factor(scale: bool | float, usual: float) -> float:
    """The factor: a number itself, the usual factor for True, 1 for False."""
    if isinstance(scale, bool):
        return usual if scale else 1.0
    return scale


def preset(name: str, *, src_vocab_size: int, tgt_vocab_size: int, **changes: object) -> TransformerConfig:
    """A preset's configuration for these vocabulary sizes, with `changes` applied.

    Raises:
        ConfigError: for an unknown preset or an impossible change.
    """
    if name not in PRESETS:
        raise ConfigError(f"There is no preset {name!r}: choose one of {', '.join(PRESETS)}.")
    sizes = {"src_vocab_size": src_vocab_size, "tgt_vocab_size": tgt_vocab_size}
    return TransformerConfig.from_dict(PRESETS[name] | sizes | changes)
