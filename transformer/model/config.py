"""What a Transformer is made of: one frozen, validated description, and the presets of it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

Kind = Literal["encoder-decoder", "encoder-only", "decoder-only"]
NormPosition = Literal["pre", "post"]
Norm = Literal["layer", "rms", "layer_unbiased"]

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
NORMS = ("layer", "rms", "layer_unbiased")
NORM_POSITIONS = ("pre", "post")
POSITION_KINDS = ("sinusoidal", "learned", "relative", "rotary", "none")
SINUSOID_LAYOUTS = ("interleaved", "halves")
MERGES = ("transposed", "untransposed")
NO_PAD_ID = -1


# Types of a field -> those that its value may have; all other fields are text.
_KINDS_OF_VALUES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "None": (type(None),),
}


class ConfigError(ValueError):
    """A configuration that no model can be built from; the message says what to change."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and choices of one Transformer.

    Attributes:
        src_vocab_size: rows of the source embedding; 0 when there is no encoder.
        tgt_vocab_size: rows of the target embedding; 0 when there is no decoder.
        d_model: width of the residual stream (paper, section 3.1: 512).
        n_heads: attention heads a layer (section 3.2.2: 8).
        n_kv_heads: heads of keys and values, each shared by n_heads / n_kv_heads heads of queries (grouped
            queries, Ainslie et al. 2023, arXiv:2305.13245); 0 becomes n_heads: each its own.
        d_head: width of a head, the paper's d_k = d_v; 0 becomes d_model / n_heads.
        merge_heads: "transposed" as in the paper: a token gets its heads' outputs side by side.
            "untransposed", as published by mistake and trained with: they are only reshaped, which deals the
            rows of each head out to other tokens, by a rule that depends on the length of the sentence.
        attention_scale: whether q k is divided by sqrt(d_head) (equation 1; T5 trains without).
        query_key_norm: whether each head's queries and keys go through a norm of their own, before rotary
            positions turn them (Henry et al. 2020, arXiv:2010.04245; Dehghani et al. 2023, arXiv:2302.05442).
        n_encoder_layers: the paper's N for the encoder; 0 makes a decoder-only model.
        n_decoder_layers: N for the decoder, independent of the encoder's; 0 makes an encoder-only model.
        d_ff: hidden width of the position-wise feed-forward (section 3.3: 2048).
        max_len: the longest sentence, in tokens, that is accepted.
        dropout: P_drop of section 5.4: of sublayers' outputs and of the embeddings, in training only.
        activation: of the feed-forward; "gelu_tanh" is GELU's approximation by tanh.
        gated: whether the feed-forward multiplies its hidden numbers by a second projection: GEGLU, SwiGLU
            (Shazeer 2020, arXiv:2002.05202).
        norm: "layer" (Ba et al. 2016); "rms", without mean and beta (Zhang and Sennrich 2019); or
            "layer_unbiased", divided by the unbiased deviation plus eps (the Annotated Transformer).
        norm_position: "post" as in the paper, LayerNorm(x + Sublayer(x)); or "pre",
            x + Sublayer(LayerNorm(x)).
        final_norm: one more norm after the last layer of each stack (needed by pre-norm, harmless in
            post-norm), or of the named one alone.
        norm_eps: added to the variance ("rms": the mean square) under the root; "layer_unbiased": to the
            deviation itself.
        positions: sinusoidal (section 3.5), learned, or none at the embedding; "relative" adds a learned bias
            to the scores of self-attention by distance (Raffel et al. 2020, arXiv:1910.10683), "rotary" turns
            queries and keys (Su et al. 2021, arXiv:2104.09864).
        position_base: the 10000 of section 3.5's wavelengths; of sinusoidal and rotary positions.
        rotary_stretch: how many times longer rotary wavelengths are made, for longer texts than those first
            trained on (position interpolation, Chen et al. 2023, arXiv:2306.15595); 1 for not at all.
        stretch_start: rotary wavelengths up to this one stay as they are ("NTK by parts", Peng et al. 2023,
            arXiv:2309.00071, section 3.2).
        stretch_full: from this one on they are stretched in full, and between the two in part.
        sinusoid_layout: "interleaved" as in section 3.5; or "halves": all sines, then all cosines.
        n_position_buckets: distances that have a relative bias of their own, near ones each, far ones shared.
        max_position_distance: from it on all distances share the last bucket.
        embedding_scale: whether embeddings are multiplied by sqrt(d_model) (section 3.4).
        embedding_norm: whether a norm follows the embeddings.
        n_segments: kinds of token (BERT's sentence A and B) with a vector each; the first one's is added to
            every token. 0 for none.
        bias: whether linear layers have a bias (layer norms always have beta).
        attention_bias: the same for those of attention; as `bias` when None.
        generator_bias: the same for the generator; as `bias` when None.
        has_generator: whether hidden states become logits; a model without returns its hidden states.
        generator_transform: whether a dense layer, the activation and a norm stand before the generator.
        logits_scale: whether hidden states are divided by sqrt(d_model) before the generator (a tied
            generator's counterpart of embedding_scale).
        share_embeddings: one matrix for source and target words (needs equal vocabularies).
        tie_generator: the generator's matrix is the embedding's (section 3.4).
        pad_id: the id that fills up short sentences of a batch, on both sides; -1 where no id does.
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
    n_kv_heads: int = 0
    d_head: int = 0
    merge_heads: Literal["transposed", "untransposed"] = "transposed"
    attention_scale: bool = True
    query_key_norm: bool = False
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = "relu"
    gated: bool = False
    norm: Norm = "layer"
    norm_position: NormPosition = "post"
    final_norm: bool | Literal["encoder", "decoder"] = False
    norm_eps: float = 1e-5
    positions: Literal["sinusoidal", "learned", "relative", "rotary", "none"] = "sinusoidal"
    position_base: float = 10_000.0
    rotary_stretch: float = 1.0
    stretch_start: float = 0.0
    stretch_full: float = 0.0
    sinusoid_layout: Literal["interleaved", "halves"] = "interleaved"
    n_position_buckets: int = 32
    max_position_distance: int = 128
    embedding_scale: bool = True
    embedding_norm: bool = False
    n_segments: int = 0
    bias: bool = True
    attention_bias: bool | None = None
    generator_bias: bool | None = None
    has_generator: bool = True
    generator_transform: bool = False
    logits_scale: bool = False
    share_embeddings: bool = False
    tie_generator: bool = True
    pad_id: int = 0

    def __post_init__(self) -> None:
        self._check_types()
        self._check_sizes()
        self._check_numbers()
        self._check_choices()
        self._check_vocabularies()
        self._check_heads()
        self._check_positions()

    @property
    def kind(self) -> Kind:
        """Which stacks there are."""
        if self.n_decoder_layers == 0:
            return "encoder-only"
        return "decoder-only" if self.n_encoder_layers == 0 else "encoder-decoder"

    def ends_with_norm(self, stack: Literal["encoder", "decoder"]) -> bool:
        """Whether a stack has a final norm."""
        return self.final_norm in (True, stack)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; 0 for those that were filled in from others."""
        values = asdict(self)
        if self.d_head * self.n_heads == self.d_model:
            values["d_head"] = 0
        if self.n_kv_heads == self.n_heads:
            values["n_kv_heads"] = 0
        return values

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
        for field in fields(self):
            value, names = getattr(self, field.name), str(field.type).split(" | ")
            allowed = [kind for name in names for kind in _KINDS_OF_VALUES.get(name, (str,))]
            if type(value) not in allowed:
                raise ConfigError(f"{field.name} is {value!r}: it must be of type {field.type}.")

    def _check_sizes(self) -> None:
        for name in ("d_model", "n_heads", "d_ff", "max_len"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}: it must be at least 1.")
        for name in ("n_encoder_layers", "n_decoder_layers", "d_head", "n_kv_heads", "n_segments"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}: it can't be negative.")
        if self.n_encoder_layers + self.n_decoder_layers == 0:
            raise ConfigError("There are no layers: give the encoder, the decoder or both at least one.")

    def _check_numbers(self) -> None:
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout is {self.dropout}: it is a probability from 0 to below 1.")
        if not 0 < self.norm_eps < 1:
            raise ConfigError(f"norm_eps is {self.norm_eps}: it must be above 0 and small, such as 1e-5.")
        if not 1 < self.position_base < math.inf:
            raise ConfigError(
                f"position_base is {self.position_base}: it must be above 1 and finite; the paper's is 10000."
            )

    def _check_choices(self) -> None:
        choices = {
            "activation": ACTIVATIONS,
            "norm": NORMS,
            "norm_position": NORM_POSITIONS,
            "positions": POSITION_KINDS,
            "sinusoid_layout": SINUSOID_LAYOUTS,
            "merge_heads": MERGES,
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name} is {getattr(self, name)!r}: choose one of {', '.join(allowed)}.")
        if self.final_norm not in (False, True, "encoder", "decoder"):
            raise ConfigError(
                f"final_norm is {self.final_norm!r}: choose True, False, 'encoder' or 'decoder'."
            )
        if self.generator_transform and not self.has_generator:
            raise ConfigError("generator_transform needs a generator after it: set has_generator to True.")

    def _check_heads(self) -> None:
        """Also fills in what follows from other fields."""
        if not self.d_head and self.d_model % self.n_heads:
            raise ConfigError(
                f"d_model {self.d_model} can't be split into {self.n_heads} equal heads: "
                "choose n_heads that divides it."
            )
        object.__setattr__(self, "d_head", self.d_head or self.d_model // self.n_heads)
        object.__setattr__(self, "n_kv_heads", self.n_kv_heads or self.n_heads)
        if self.n_heads % self.n_kv_heads:
            raise ConfigError(
                f"{self.n_heads} heads can't share {self.n_kv_heads} heads of keys and values equally: "
                "choose n_kv_heads that divides n_heads."
            )

    def _check_positions(self) -> None:
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ConfigError(
                f"d_model {self.d_model} is odd: sinusoidal positions pair sines with cosines, make it even."
            )
        if self.positions == "rotary" and self.d_head % 2:
            raise ConfigError(
                f"d_head {self.d_head} is odd: rotary positions turn pairs of numbers, make it even."
            )
        if not 1 <= self.rotary_stretch < math.inf:
            raise ConfigError(
                f"rotary_stretch is {self.rotary_stretch}: it must be finite and at least 1, which "
                "stretches nothing."
            )
        start, full = self.stretch_start, self.stretch_full
        if not 0 <= start <= full < math.inf or (full and start < 1):
            raise ConfigError(
                f"stretch_start is {start} and stretch_full {full}: they must be wavelengths of at "
                "least 1 position, the first not longer than the second, or both 0, which stretches all."
            )
        if self.positions == "relative":
            if self.n_position_buckets < 4 or self.n_position_buckets % 2:
                raise ConfigError(
                    f"n_position_buckets is {self.n_position_buckets}: it must be even and at least 4."
                )
            if self.max_position_distance <= self.n_position_buckets // 2:
                raise ConfigError(
                    f"max_position_distance is {self.max_position_distance}: it must be above half of the "
                    f"{self.n_position_buckets} buckets."
                )

    def _check_vocabularies(self) -> None:
        sides = {"src_vocab_size": self.n_encoder_layers, "tgt_vocab_size": self.n_decoder_layers}
        for name, n_layers in sides.items():
            size = getattr(self, name)
            if n_layers and size < 1:
                raise ConfigError(f"{name} is {size}: a stack with layers needs at least one word.")
            if not n_layers and size:
                raise ConfigError(f"{name} is {size} but that side has no layers: set it to 0.")
            if n_layers and not NO_PAD_ID <= self.pad_id < size:
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
