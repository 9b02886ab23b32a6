"""The text models of Gemma 3 (Gemma Team 2025, arXiv:2503.19786) as Hugging Face's transformers saves them.

Gemma 2 without caps, with norms of queries and keys. Layers that attend to a window have their own rotation;
the window makes no difference for texts that fit into it.
"""

from __future__ import annotations

from typing import Any

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.decoders.llama_like import (
    _llama_layout as llama_layout,
)
from transformer.checkpoints.importing.families.hugging_face.decoders.llama_like import gemma2
from transformer.checkpoints.importing.families.hugging_face.decoders.llama_like.gemma import (
    of_heads_from_zero,
)
from transformer.checkpoints.importing.family import Family, Into, Renames, may_be, prefixed
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError, shown

_NORMS: Renames = {
    "self_attn.q_norm.weight": Into(of_heads_from_zero, "self_attn.q_norm.gamma"),
    "self_attn.k_norm.weight": Into(of_heads_from_zero, "self_attn.k_norm.gamma"),
}
RENAMES: Renames = {**gemma2.RENAMES, **prefixed(_NORMS, "layers.{}.", "decoder.layers.{}.")}

_USUAL = llama_layout.Usual(
    of="every Gemma 3",
    bare=("Gemma3TextModel",),
    tied=True,
    d_head=256,
    norm_eps=(1e-6,),
    bases={1e6: "1,000,000"},
    lengths=(512, 1024, 4096),
    window=4096,
    rotation_of="full_attention",
)
_LOCAL_BASE = 10_000.0
_PATTERN = 6
"""One layer in this many attends to the whole text."""
_WIDE = 2048
"""Models at least this wide were trained on longer texts, with stretched positions."""


def matches(raw: RawCheckpoint) -> bool:
    """True if there are Gemma 2's names and norms of queries and keys."""
    has_norms = "layers.0.self_attn.q_norm.weight" in raw.tensors
    return gemma2.has_names(raw) and has_norms and may_be(raw, "gemma3_text")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers.

    Raises:
        CheckpointError: for stretched layers with the same base as the others.
    """
    gemma2.read_layers(draft, _USUAL)
    config = draft.config
    if config is None:
        _put_bases(draft, [_is_local(i, _PATTERN) for i in range(draft["n_decoder_layers"])], _LOCAL_BASE)
        _ask_stretch(draft)
        return
    gemma2.put_logits_cap(draft, 0.0)
    config.only("attn_logit_softcapping", None, why="capped scores, which transformers leaves out here")
    base = _local_base(config)
    if base == draft["position_base"] and "rotary_stretch" in draft.settings:
        raise CheckpointError(
            f"config.json says rope_theta {shown(base)} of all layers and stretches the wavelengths of some. "
            "Headlight's model tells such layers by their base: it needs two."
        )
    _put_bases(draft, _local_layers(draft["n_decoder_layers"], config), base)
    config.get("_sliding_window_pattern")
    llama_layout.refuse_other_computations(config)


def _put_bases(draft: ConfigDraft, local: list[bool], local_base: float) -> None:
    bases = tuple(local_base if is_local else draft["position_base"] for is_local in local)
    draft.put(
        "position_bases",
        bases,
        "config" if draft.config else "layout",
        "one for layers with a window, one for others",
    )


def _is_local(layer: int, pattern: int) -> bool:
    return (layer + 1) % pattern != 0


def _local_layers(n_layers: int, config: ForeignConfig) -> list[bool]:
    """Which layers attend to a window.

    Raises:
        CheckpointError: when config.json lists another number of layers.
    """
    pattern = config.integer("sliding_window_pattern", _PATTERN)
    types: Any = config.get("layer_types")
    if types is None:
        return [_is_local(i, max(1, pattern)) for i in range(n_layers)]
    if len(types) != n_layers:
        raise CheckpointError(
            f"config.json says layer_types of {len(types)} layers, and there are {n_layers}: copy the "
            "complete file."
        )
    return [kind == "sliding_attention" for kind in types]


def _local_base(config: ForeignConfig) -> float:
    """The base of the layers with a window.

    Raises:
        CheckpointError: when their wavelengths are stretched.
    """
    usual = config.number("rope_local_base_freq", _LOCAL_BASE)
    entry = config.get("rope_parameters", {}).get("sliding_attention") or {}
    rope = ForeignConfig(entry if isinstance(entry, dict) else {})
    kind = rope.get("rope_type", "default")
    if kind != "default":
        raise CheckpointError(
            f"config.json says rope_type {shown(kind)} of layers with a window: Headlight's model stretches "
            "the wavelengths of the others alone."
        )
    return rope.number("rope_theta", usual)


def _ask_stretch(draft: ConfigDraft) -> None:
    draft.ask(
        "rotary_stretch",
        "How many times longer are the rotary wavelengths of layers without a window?",
        "It is in config.json (rope_scaling) and not stored with the weights.",
        {1.0: "not longer, as in the models of 270M and 1B", 8.0: "8 times, as in those of 4B, 12B and 27B"},
        likely=8.0 if draft["d_model"] >= _WIDE else 1.0,
    )


FAMILY = Family(
    name="gemma3_text",
    label="Gemma 3",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=llama_layout.IGNORED,
    prefixes=("model.",),
    stand_ins=llama_layout.stand_ins,
)
