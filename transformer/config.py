"""What a Transformer is made of: one frozen, validated description, and the presets of it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

Kind = Literal["encoder-decoder", "encoder-only", "decoder-only"]
NormPosition = Literal["pre", "post"]

ACTIVATIONS = ("relu", "gelu")
NORM_POSITIONS = ("pre", "post")
POSITION_KINDS = ("sinusoidal", "learned")


class ConfigError(ValueError):
    """A configuration that no model can be built from; the message says what to change."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and choices of one Transformer.

    Attributes:
        src_vocab_size: rows of the source embedding; 0 when there is no encoder.
        tgt_vocab_size: rows of the target embedding; 0 when there is no decoder.
        d_model: width of the residual stream (paper, section 3.1: 512).
        n_heads: attention heads a layer (section 3.2.2: 8); must divide d_model.
        n_encoder_layers: the paper's N for the encoder; 0 makes a decoder-only model.
        n_decoder_layers: N for the decoder, independent of the encoder's; 0 makes an encoder-only model.
        d_ff: hidden width of the position-wise feed-forward (section 3.3: 2048).
        max_len: the longest sentence, in tokens, that is accepted.
        dropout: P_drop of section 5.4: of sublayers' outputs and of the embeddings, in training only.
        activation: of the feed-forward.
        norm_position: "post" as in the paper, LayerNorm(x + Sublayer(x)); or "pre",
            x + Sublayer(LayerNorm(x)).
        final_norm: one more norm after the last layer of each stack (needed by pre-norm, harmless in
            post-norm).
        norm_eps: added to the variance under the root.
        positions: sinusoidal (section 3.5) or learned.
        position_base: the 10000 of section 3.5's wavelengths; sinusoidal positions only.
        bias: whether linear layers have a bias (the norms always have beta).
        share_embeddings: one matrix for source and target words (needs equal vocabularies).
        tie_generator: the generator's matrix is the embedding's (section 3.4).
        pad_id: the id that fills up short sentences of a batch, on both sides.
    """

    src_vocab_size: int
    tgt_vocab_size: int
    d_model: int
    n_heads: int
    n_encoder_layers: int
    n_decoder_layers: int
    d_ff: int
    max_len: int
    dropout: float = 0.1
    activation: Literal["relu", "gelu"] = "relu"
    norm_position: NormPosition = "post"
    final_norm: bool = False
    norm_eps: float = 1e-5
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    position_base: float = 10_000.0
    bias: bool = True
    share_embeddings: bool = False
    tie_generator: bool = True
    pad_id: int = 0

    def __post_init__(self) -> None:
        self._check_types()
        self._check_sizes()
        self._check_choices()
        self._check_vocabularies()

    @property
    def d_head(self) -> int:
        """Width of one head: the paper's d_k = d_v = d_model / h."""
        return self.d_model // self.n_heads

    @property
    def kind(self) -> Kind:
        """Which stacks there are."""
        if self.n_decoder_layers == 0:
            return "encoder-only"
        return "decoder-only" if self.n_encoder_layers == 0 else "encoder-decoder"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TransformerConfig:
        """The inverse of `to_dict`. Raises ConfigError for a field that is unknown or missing."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ConfigError(f"The configuration has unknown fields: {', '.join(unknown)}. Remove them.")
        try:
            return cls(**values)
        except TypeError as error:
            raise ConfigError(f"The configuration is incomplete: {error}. Add what is missing.") from error

    def _check_types(self) -> None:
        expected: dict[str, type | tuple[type, ...]] = {"int": int, "float": (int, float), "bool": bool}
        for field in fields(self):
            value, kind = getattr(self, field.name), expected.get(str(field.type), str)
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                raise ConfigError(f"{field.name} is {value!r}: it must be of type {field.type}.")

    def _check_sizes(self) -> None:
        for name in ("d_model", "n_heads", "d_ff", "max_len"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}: it must be at least 1.")
        for name in ("n_encoder_layers", "n_decoder_layers"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}: it can't be negative.")
        if self.n_encoder_layers + self.n_decoder_layers == 0:
            raise ConfigError("There are no layers: give the encoder, the decoder or both at least one.")
        if self.d_model % self.n_heads:
            raise ConfigError(
                f"d_model {self.d_model} can't be split into {self.n_heads} equal heads: "
                "choose n_heads that divides it."
            )
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout is {self.dropout}: it is a probability from 0 to below 1.")
        if not 0 < self.norm_eps < 1:
            raise ConfigError(f"norm_eps is {self.norm_eps}: it must be above 0 and small, such as 1e-5.")
        if not 1 < self.position_base < math.inf:
            raise ConfigError(
                f"position_base is {self.position_base}: it must be above 1 and finite; the paper's is 10000."
            )

    def _check_choices(self) -> None:
        choices = {"activation": ACTIVATIONS, "norm_position": NORM_POSITIONS, "positions": POSITION_KINDS}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name} is {getattr(self, name)!r}: choose one of {', '.join(allowed)}.")
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ConfigError(
                f"d_model {self.d_model} is odd: sinusoidal positions pair sines with cosines, make it even."
            )

    def _check_vocabularies(self) -> None:
        sides = {"src_vocab_size": self.n_encoder_layers, "tgt_vocab_size": self.n_decoder_layers}
        for name, n_layers in sides.items():
            size = getattr(self, name)
            if n_layers and size < 1:
                raise ConfigError(f"{name} is {size}: a stack with layers needs at least one word.")
            if not n_layers and size:
                raise ConfigError(f"{name} is {size} but that side has no layers: set it to 0.")
            if n_layers and not 0 <= self.pad_id < size:
                raise ConfigError(f"pad_id {self.pad_id} is no id of the vocabulary: {name} is {size}.")
        if self.share_embeddings and self.src_vocab_size != self.tgt_vocab_size:
            raise ConfigError(
                f"share_embeddings needs one vocabulary for both sides, not {self.src_vocab_size} source and "
                f"{self.tgt_vocab_size} target words: set it to False or join the vocabularies."
            )


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


def preset(name: str, *, src_vocab_size: int, tgt_vocab_size: int, **changes: object) -> TransformerConfig:
    """The configuration of a preset for given vocabularies, with `changes` on top.

    Raises:
        ConfigError: for a preset that does not exist, or changes that make no model.
    """
    if name not in PRESETS:
        raise ConfigError(f"There is no preset {name!r}: choose one of {', '.join(PRESETS)}.")
    sizes = {"src_vocab_size": src_vocab_size, "tgt_vocab_size": tgt_vocab_size}
    return TransformerConfig.from_dict(PRESETS[name] | sizes | changes)
