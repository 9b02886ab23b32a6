"""Rotary positions in a config.json of Hugging Face's transformers: their base, how they are stretched."""

from __future__ import annotations

from typing import Any

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.errors import CheckpointError, shown

UNSTRETCHED = ("default", "dynamic")
"""Dynamic ones change only in texts longer than max_position_embeddings, which is our max_len."""


def put_rotary(draft: ConfigDraft, config: ForeignConfig, usual_base: float = 10_000.0) -> None:
    """Fill in position_base, and how wavelengths are stretched where they are.

    Raises:
        CheckpointError: for a way of stretching that Headlight's model does not have.
    """
    rope = _rope(config)
    draft.told("position_base", rope.number("rope_theta", usual_base), "rope_theta")
    kind = rope.get("rope_type", "default")
    if kind in UNSTRETCHED:
        return
    if kind not in ("linear", "llama3"):
        raise CheckpointError(
            f"config.json says rope_type {shown(kind)}: Headlight's model knows {', '.join(UNSTRETCHED)}, "
            "linear and llama3."
        )
    draft.told("rotary_stretch", rope.number("factor"), "factor of the rotary positions")
    if kind == "llama3":
        _put_range(draft, rope, config.integer("max_position_embeddings", 2048))


def _put_range(draft: ConfigDraft, rope: ForeignConfig, max_positions: int) -> None:
    """Which wavelengths are stretched: told by how often they fit into the texts first trained on."""
    trained = rope.number("original_max_position_embeddings", max_positions)
    rare, often = rope.number("low_freq_factor"), rope.number("high_freq_factor")
    if not (0 < rare <= often and trained > 0):
        raise CheckpointError(
            f"config.json says low_freq_factor {shown(rare)}, high_freq_factor {shown(often)} and "
            f"original_max_position_embeddings {shown(trained)}: they must be above 0, and the first no "
            "larger than the second."
        )
    why = "config.json: original_max_position_embeddings / {}_freq_factor"
    draft.put("stretch_start", trained / often, "config", why.format("high"))
    draft.put("stretch_full", trained / rare, "config", why.format("low"))


def _rope(config: ForeignConfig) -> ForeignConfig:
    """What is told of the rotation, from all the places that versions of transformers used.

    Raises:
        CheckpointError: when only a part of each head is rotated.
    """
    told: dict[str, Any] = {name: config.get(name) for name in ("rope_theta", "partial_rotary_factor")}
    for name in ("rope_parameters", "rope_scaling"):
        parameters = config.get(name, {})
        if not isinstance(parameters, dict):
            raise CheckpointError(f"config.json says {name} {shown(parameters)}: it must be an object.")
        told |= parameters
        told["rope_type"] = parameters.get("rope_type") or parameters.get("type") or told.get("rope_type")
    rope = ForeignConfig(told)
    rotated = rope.get("partial_rotary_factor", 1.0)
    if rotated != 1:
        raise CheckpointError(
            f"config.json says that {shown(rotated)} of each head is rotated: Headlight's model turns "
            "whole heads."
        )
    return rope
