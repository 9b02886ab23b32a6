"""Rotary positions in a config.json of Hugging Face's transformers: base, rotated part, stretching."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout.derived import Settings
from transformer.errors import CheckpointError, shown

UNSTRETCHED = ("default", "dynamic")
"""Dynamic stretching affects only texts longer than max_position_embeddings, which is our max_len."""


def put_rotation(reading: Settings, spec: Mapping[str, Any]) -> None:
    """Fill in position_base, how much of each head is rotated, and how wavelengths are stretched.

    `spec` has the usual base and rotated share (base; part, if the family rotates parts of heads) and their
    attributes in config.json (base_key, part_key); the key in rope_parameters, if each type of layer has its
    own (entry); and the bases to choose from without config.json, with texts for the user (bases).

    Raises:
        CheckpointError: for a kind of stretching that Headlight's model does not have.
    """
    draft, config = reading.draft, reading.draft.config
    reading.get("d_head")
    if "d_head" not in draft.settings:
        d_head = reading.get("d_model") // max(1, reading.get("n_heads"))
        draft.put("d_head", d_head, "shapes", "d_model over n_heads")
    dims = reading.get("rotary_dims") if "rotary_dims" in reading.layout.config else None
    usual, part = float(spec.get("base", 10_000.0)), 0.0 if dims else spec.get("part", 0.0)
    if config is None:
        _ask_base(reading, usual, spec.get("bases", {}))
        if part:
            _ask_rotary_dims(draft, round(1 / part))
        return
    base_key = spec.get("base_key", "rope_theta")
    part_key = spec.get("part_key", "partial_rotary_factor")
    rope = _rope(config, base_key, part_key, spec.get("entry", ""))
    draft.configured("position_base", rope.number("rope_theta", usual), base_key)
    _put_part(draft, rope, part, part_key)
    _put_stretch(draft, rope, config.integer("max_position_embeddings", 2048))


def _ask_base(reading: Settings, usual: float, bases: Mapping[str, Any]) -> None:
    if not bases:
        reading.draft.layout(reading.layout.every, position_base=usual)
        return
    reading.draft.ask(
        "position_base",
        "What is the base of the rotary positions (rope_theta)?",
        "The angles are computed and not stored.",
        {float(base): str(label) for base, label in bases.items()},
    )


def _put_stretch(draft: ConfigDraft, rope: ForeignConfig, max_positions: int) -> None:
    kind = rope.get("rope_type", "default")
    if kind in UNSTRETCHED:
        return
    if kind not in ("linear", "llama3"):
        raise CheckpointError(
            f"config.json says rope_type {shown(kind)}: Headlight's model knows {', '.join(UNSTRETCHED)}, "
            "linear and llama3."
        )
    draft.configured("rotary_stretch", rope.number("factor"), "factor of the rotary positions")
    if kind == "llama3":
        _put_range(draft, rope, max_positions)


def _ask_rotary_dims(draft: ConfigDraft, usual_part: int) -> None:
    """Ask how much of each head is rotated. Needs d_head.

    Args:
        draft: to be filled in.
        usual_part: divisor for the family's usual part of a head: 4 for a quarter.

    Raises:
        CheckpointError: for heads too narrow for a pair of numbers.
    """
    d_head = draft["d_head"]
    if d_head < 2:
        raise CheckpointError(
            f"{shown(draft['n_heads'])} heads are impossible: each would be {shown(d_head)} wide, and rotary "
            "positions rotate pairs of numbers. Choose fewer heads."
        )
    parts = {d_head // n: f"{d_head // n} of {d_head}" for n in (usual_part, 1, 2, 4)}
    draft.ask(
        "rotary_dims",
        "How many leading dimensions of each head are rotated?",
        "The angles are computed and not stored.",
        {turned: label for turned, label in parts.items() if turned > 1 and turned % 2 == 0}
        or {d_head - d_head % 2: f"{d_head - d_head % 2} of {d_head}"},
    )


def _put_range(draft: ConfigDraft, rope: ForeignConfig, max_positions: int) -> None:
    """Fill in which wavelengths are stretched, from how often they fit into the original training length."""
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


def _rope(config: ForeignConfig, base_key: str, part_key: str, entry: str) -> ForeignConfig:
    """The settings of the rotation, from all the places used by versions of transformers."""
    told: dict[str, Any] = {
        "rope_theta": config.get(base_key),
        "partial_rotary_factor": config.get(part_key),
    }
    for name in ("rope_parameters", "rope_scaling"):
        parameters = config.get(name, {})
        if not isinstance(parameters, dict):
            raise CheckpointError(f"config.json says {name} {shown(parameters)}: it must be an object.")
        nested = any(isinstance(value, dict) for value in parameters.values())
        if nested and entry:
            parameters = parameters.get(entry) or {}
        elif nested:
            raise CheckpointError(
                f"config.json says {name} {shown(parameters)}: this family has one rotation for all layers."
            )
        told |= parameters
        told["rope_type"] = parameters.get("rope_type") or parameters.get("type") or told.get("rope_type")
    return ForeignConfig(told)


def _put_part(draft: ConfigDraft, rope: ForeignConfig, usual: float, key: str) -> None:
    """Fill in how many numbers of each head are rotated.

    Raises:
        CheckpointError: for partly rotated heads in a family that rotates whole ones.
    """
    part = rope.number("partial_rotary_factor", usual or 1.0)
    if not usual and part != 1:
        raise CheckpointError(
            f"config.json says that {shown(part)} of each head is rotated: this family has no partly rotated "
            "heads."
        )
    if not 0 < part <= 1:
        raise CheckpointError(
            f"config.json says {key} {shown(part)}: it must be a share of each head, above 0 and at most 1."
        )
    turned = int(draft["d_head"] * part)
    if not turned:
        raise CheckpointError(
            f"config.json says {key} {shown(part)}, which rounds to none of the {draft['d_head']} "
            "numbers of a head. Copy the complete file."
        )
    if part < 1:
        draft.configured("rotary_dims", turned, f"{key}, of {draft['d_head']}")
