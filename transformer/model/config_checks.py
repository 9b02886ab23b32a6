"""Checks of a configuration: each says what is wrong and what to change."""

from __future__ import annotations

import math
from dataclasses import fields

from transformer.model.choices import Choices

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "relu_squared")
NORMS = ("layer", "rms", "layer_unbiased")
NORM_POSITIONS = ("pre", "post", "both", "output", "none")
POSITION_KINDS = ("sinusoidal", "learned", "relative", "alibi", "rotary", "none")
SINUSOID_LAYOUTS = ("interleaved", "halves", "halves_to_base")
MERGES = ("transposed", "untransposed")
PER_LAYER = ("position_bases", "attention_windows")
"""Choices with one value per layer, the encoder's layers first."""
NO_PAD_ID = -1

# Field annotation -> allowed types of its value; other annotations mean text.
_KINDS_OF_VALUES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "None": (type(None),),
    "tuple[float, ...]": (tuple,),
    "tuple[int, ...]": (tuple,),
}


class ConfigError(ValueError):
    """No model can be built from this configuration; the message says what to change."""


def check(config: Choices) -> None:
    """Raises ConfigError unless a model can be built from these values."""
    _check_types(config)
    _check_sizes(config)
    _check_numbers(config)
    _check_choices(config)
    _check_vocabularies(config)
    _check_generator(config)
    _check_residual(config)
    _check_heads(config)
    _check_experts(config)
    _check_per_layer(config)
    _check_positions(config)
    _check_rotary(config)


def _check_types(config: Choices) -> None:
    for field in fields(config):
        value, names = getattr(config, field.name), str(field.type).split(" | ")
        allowed = [kind for name in names for kind in _KINDS_OF_VALUES.get(name, (str,))]
        if type(value) not in allowed:
            raise ConfigError(f"{field.name} is {value!r}: it must be of type {field.type}.")


def _check_sizes(config: Choices) -> None:
    for name in ("d_model", "n_heads", "d_ff", "max_len"):
        if getattr(config, name) < 1:
            raise ConfigError(f"{name} is {getattr(config, name)}: it must be at least 1.")
    layers = ("n_encoder_layers", "n_decoder_layers")
    others = ("d_head", "n_kv_heads", "n_segments", "d_embedding", "position_offset", "rotary_dims")
    for name in (*layers, *others):
        if getattr(config, name) < 0:
            raise ConfigError(f"{name} is {getattr(config, name)}: it can't be negative.")
    if config.n_encoder_layers + config.n_decoder_layers == 0:
        raise ConfigError("There are no layers: give the encoder, the decoder or both at least one.")


def _check_numbers(config: Choices) -> None:
    if not 0 <= config.dropout < 1:
        raise ConfigError(f"dropout is {config.dropout}: it is a probability from 0 to below 1.")
    if not 0 < config.norm_eps < 1:
        raise ConfigError(f"norm_eps is {config.norm_eps}: it must be above 0 and small, such as 1e-5.")
    if not 1 < config.position_base < math.inf:
        raise ConfigError(
            f"position_base is {config.position_base}: it must be above 1 and finite; the paper's is 10000."
        )
    for name in ("attention_scale", "embedding_scale", "logits_scale", "residual_scale"):
        value = getattr(config, name)
        if not isinstance(value, bool) and not 0 < value < math.inf:
            raise ConfigError(f"{name} is {value}: a factor must be above 0 and finite.")
    for name in ("attention_soft_cap", "logits_soft_cap"):
        if not 0 <= getattr(config, name) < math.inf:
            raise ConfigError(
                f"{name} is {getattr(config, name)}: it must be finite and above 0, or 0 for none."
            )


def _check_choices(config: Choices) -> None:
    choices = {
        "activation": ACTIVATIONS,
        "norm": NORMS,
        "norm_position": NORM_POSITIONS,
        "positions": POSITION_KINDS,
        "sinusoid_layout": SINUSOID_LAYOUTS,
        "merge_heads": MERGES,
    }
    for name, allowed in choices.items():
        if getattr(config, name) not in allowed:
            raise ConfigError(f"{name} is {getattr(config, name)!r}: choose one of {', '.join(allowed)}.")
    if config.final_norm not in (False, True, "encoder", "decoder"):
        raise ConfigError(f"final_norm is {config.final_norm!r}: choose True, False, 'encoder' or 'decoder'.")
    if config.query_key_norm not in (False, True, "each_head", "across_heads"):
        raise ConfigError(
            f"query_key_norm is {config.query_key_norm!r}: choose True, False, 'each_head' or 'across_heads'."
        )


def _check_generator(config: Choices) -> None:
    if config.generator_transform and not config.has_generator:
        raise ConfigError("generator_transform needs a generator after it: set has_generator to True.")
    if config.logits_soft_cap and not config.has_generator:
        raise ConfigError("logits_soft_cap needs a generator's logits: set has_generator to True.")
    tied = config.has_generator and config.tie_generator
    if tied and not config.generator_transform and config.d_embedding not in (0, config.d_model):
        raise ConfigError(
            f"A generator tied to embeddings of width {config.d_embedding} can't read states of width "
            f"{config.d_model}: set generator_transform to True or tie_generator to False."
        )


def _check_residual(config: Choices) -> None:
    if not config.first_norm and (config.norm_position != "pre" or config.shared_layers):
        raise ConfigError(
            "first_norm is False, which needs norm_position 'pre' and no shared_layers: set it to True."
        )
    if config.parallel_residual and (config.norm_position != "pre" or config.n_encoder_layers):
        raise ConfigError(
            "parallel_residual needs a model without an encoder and norm_position 'pre': set it to False."
        )


def _check_heads(config: Choices) -> None:
    if not config.d_head and config.d_model % config.n_heads:
        raise ConfigError(
            f"d_model {config.d_model} can't be split into {config.n_heads} equal heads: "
            "choose n_heads that divides it."
        )
    n_kv_heads = config.n_kv_heads or config.n_heads
    if config.n_heads % n_kv_heads:
        raise ConfigError(
            f"{config.n_heads} heads can't share {n_kv_heads} heads of keys and values equally: "
            "choose n_kv_heads that divides n_heads."
        )


def _check_experts(config: Choices) -> None:
    if config.n_experts == 1 or config.n_experts < 0:
        raise ConfigError(f"n_experts is {config.n_experts}: give at least 2, or 0 for one feed-forward.")
    fewest = 1 if config.n_experts else 0
    if not fewest <= config.n_active_experts <= config.n_experts:
        raise ConfigError(
            f"n_active_experts is {config.n_active_experts}: it must be from {fewest} to n_experts, "
            f"{config.n_experts}."
        )


def _check_per_layer(config: Choices) -> None:
    n_layers = config.n_encoder_layers + config.n_decoder_layers
    for name in PER_LAYER:
        values = getattr(config, name)
        if values and len(values) != n_layers:
            raise ConfigError(f"{name} has {len(values)} values: give one per layer, {n_layers}.")
    for window in config.attention_windows:
        if type(window) is not int or window < 0:
            raise ConfigError(
                f"attention_windows has {window!r}: a window is a number of positions, or 0 for a layer that "
                "sees all."
            )
    if config.attention_windows and not any(config.attention_windows):
        raise ConfigError("attention_windows has no window above 0: leave it out.")


def _check_positions(config: Choices) -> None:
    width, name = (config.d_embedding, "d_embedding") if config.d_embedding else (config.d_model, "d_model")
    if config.positions == "sinusoidal" and width % 2:
        raise ConfigError(
            f"{name} {width} is odd: sinusoidal positions pair sines with cosines, make it even."
        )
    if config.position_offset and config.positions != "sinusoidal":
        raise ConfigError(
            f"position_offset is {config.position_offset} but positions are {config.positions!r}: it applies "
            "to sinusoidal positions only, set it to 0."
        )
    if config.relative_bias_per_layer and config.positions != "relative":
        raise ConfigError(
            f"relative_bias_per_layer is True but positions are {config.positions!r}: it applies to relative "
            "positions only, set it to False."
        )
    if config.positions == "relative":
        if config.n_position_buckets < 4 or config.n_position_buckets % 2:
            raise ConfigError(
                f"n_position_buckets is {config.n_position_buckets}: it must be even and at least 4."
            )
        if config.max_position_distance <= config.n_position_buckets // 2:
            raise ConfigError(
                f"max_position_distance is {config.max_position_distance}: it must be above half of the "
                f"{config.n_position_buckets} buckets."
            )


def _check_rotary(config: Choices) -> None:
    d_head = config.d_head or config.d_model // config.n_heads
    turned, name = (config.rotary_dims, "rotary_dims") if config.rotary_dims else (d_head, "d_head")
    if config.positions == "rotary" and turned % 2:
        raise ConfigError(f"{name} {turned} is odd: rotary positions rotate pairs, make it even.")
    if turned > d_head:
        raise ConfigError(f"rotary_dims is {turned}: a head has only {d_head} dimensions.")
    for option in ("rotary_dims", "position_bases"):
        if getattr(config, option) and config.positions != "rotary":
            raise ConfigError(
                f"{option} is {getattr(config, option)} but positions are {config.positions!r}: it applies "
                "to rotary positions only, leave it out."
            )
    _check_bases(config)
    if not 1 <= config.rotary_stretch < math.inf:
        raise ConfigError(
            f"rotary_stretch is {config.rotary_stretch}: it must be finite and at least 1 (1 is no stretch)."
        )
    start, full = config.stretch_start, config.stretch_full
    if not 0 <= start <= full < math.inf or (full and start < 1):
        raise ConfigError(
            f"stretch_start is {start} and stretch_full {full}: they must be wavelengths of at least 1 "
            "position, start no longer than full, or both 0 to stretch all."
        )


def _check_bases(config: Choices) -> None:
    bases = config.position_bases
    if bases and not any(bases):
        raise ConfigError("position_bases has no base above 0: set positions to 'none' and leave it out.")
    for base in bases:
        if type(base) not in (float, int) or not (base == 0 or 1 < base < math.inf):
            raise ConfigError(
                f"position_bases has {base!r}: a base is finite and above 1, or 0 for no rotation."
            )


def _check_vocabularies(config: Choices) -> None:
    sides = {"src_vocab_size": config.n_encoder_layers, "tgt_vocab_size": config.n_decoder_layers}
    for name, n_layers in sides.items():
        size = getattr(config, name)
        if n_layers and size < 1:
            raise ConfigError(f"{name} is {size}: a stack with layers needs at least one word.")
        if not n_layers and size:
            raise ConfigError(f"{name} is {size} but that side has no layers: set it to 0.")
        if n_layers and not NO_PAD_ID <= config.pad_id < size:
            raise ConfigError(f"pad_id {config.pad_id} is not in the vocabulary: {name} is {size}.")
    if config.share_embeddings and config.src_vocab_size != config.tgt_vocab_size:
        raise ConfigError(
            f"share_embeddings needs one vocabulary for both sides, not {config.src_vocab_size} source and "
            f"{config.tgt_vocab_size} target words: set it to False or join the vocabularies."
        )
