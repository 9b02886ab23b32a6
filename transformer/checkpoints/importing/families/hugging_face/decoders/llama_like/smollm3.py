"""SmolLM3 (Hugging Face 2025) as Hugging Face's transformers saves it.

Llama without rotary positions in every fourth layer (Yang et al. 2025, arXiv:2501.18795).
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.decoders.llama_like import (
    _llama_layout as llama_layout,
)
from transformer.checkpoints.importing.family import Family, may_be
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout.hugging_face import read_activation
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError, shown

_USUAL = llama_layout.Usual(
    of="every SmolLM3",
    bare=("SmolLM3Model",),
    tied=True,
    norm_eps=(1e-6,),
    bases={2e6: "2,000,000", 5e6: "5,000,000", 5e4: "50,000"},
    lengths=(32_768, 65_536),
)
_INTERVAL = 4
_SIZES = (128_256, 36)
"""Vocabulary size and depth of the published model."""


def matches(raw: RawCheckpoint) -> bool:
    """True if there are Llama's names and no norms of queries and keys."""
    has_norms = "layers.0.self_attn.q_norm.weight" in raw.tensors
    return llama_layout.has_names(raw) and not has_norms and may_be(raw, "smollm3")


def is_likely(raw: RawCheckpoint) -> bool:
    """True if vocabulary and depth are those of the published model."""
    return (*raw.tensors["embed_tokens.weight"].shape[:1], raw.layer_count("layers.")) == _SIZES


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    read_activation(draft, "hidden_act", "silu")
    llama_layout.read_layers(draft, _USUAL)
    n_layers, config = draft["n_decoder_layers"], draft.config
    if config is None:
        turning = _every(_INTERVAL, n_layers)
    else:
        turning = _told(config, n_layers)
        llama_layout.refuse_other_computations(config)
    bases = tuple(draft["position_base"] if turns else 0.0 for turns in turning)
    draft.put(
        "position_bases",
        bases,
        "config" if config else "layout",
        "which layers turn nothing (no_rope_layers)",
    )


def _every(interval: int, n_layers: int) -> list[bool]:
    return [(layer + 1) % interval != 0 for layer in range(n_layers)]


def _told(config: ForeignConfig, n_layers: int) -> list[bool]:
    """Which layers rotate queries and keys, from config.json.

    Raises:
        CheckpointError: when config.json lists fewer layers than there are.
    """
    interval = config.integer("no_rope_layer_interval", _INTERVAL)
    layers = config.get("no_rope_layers")
    if layers is None:
        return _every(max(1, interval), n_layers)
    if not isinstance(layers, list) or len(layers) < n_layers:
        raise CheckpointError(
            f"config.json says no_rope_layers {shown(layers)}: it must list {n_layers} numbers, 0 for a "
            "layer without rotation."
        )
    return [bool(turns) for turns in layers[:n_layers]]


FAMILY = Family(
    name="smollm3",
    label="SmolLM3",
    matches=matches,
    read_config=read_config,
    renames=llama_layout.RENAMES,
    ignored=llama_layout.IGNORED,
    prefixes=("model.",),
    stand_ins=llama_layout.stand_ins,
    kin=llama_layout.KIN,
    trait="every fourth layer has no rotary positions",
    likely=is_likely,
)
