"""Which family a checkpoint is of, what its configuration is, and how its names fit: all without a weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from transformer.checkpoints.importing.config_builder import LARGEST_SIZE, ConfigReading
from transformer.checkpoints.importing.families import FAMILIES
from transformer.checkpoints.importing.family import Family
from transformer.checkpoints.importing.foreign_config import ForeignConfig, short
from transformer.checkpoints.importing.mapping import Plan, make_plan, skeleton
from transformer.checkpoints.importing.names import shared_prefixes, unwrapped
from transformer.checkpoints.importing.report import ImportReport
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError
from transformer.model.config import TransformerConfig
from transformer.model.transformer import Transformer

_MOST_LAYERS = 1_000
_LARGEST_TABLE = 2**23
"""Numbers in a table of sinusoids, which is computed and not stored: 32 MiB, six times that on the way."""
_LONGEST_DISTANCE = 2**20
"""Between tokens, of relative positions: a table of their buckets is computed."""


@dataclass(frozen=True)
class PlannedImport:
    """All that is known before a weight is read.

    Attributes:
        report: on configuration and names.
        plan: what is to be read into the skeleton.
        skeleton: the model without memory for its weights.
    """

    report: ImportReport
    plan: Plan
    skeleton: Transformer


def plan_import(raw: RawCheckpoint, answers: Mapping[str, Any]) -> PlannedImport:
    """Find out what a checkpoint is and how it becomes our model.

    Raises:
        CheckpointError: for a layout that is not known, a model that ours does not compute, wrong answers.
    """
    found = recognise(raw)
    reading = found.family.read_config(found.raw, answers)
    _check_cost(reading.config)
    model = skeleton(reading.config)
    plan = make_plan(reading.raw or found.raw, found.family, model)
    return PlannedImport(_report(found, reading, plan), plan, model)


@dataclass(frozen=True)
class Recognised:
    """A family, and the checkpoint with its tensors under the names that the family knows."""

    family: Family
    raw: RawCheckpoint


def recognise(raw: RawCheckpoint) -> Recognised:
    """Find the family of a checkpoint, looking at its names without what wraps the model.

    Raises:
        CheckpointError: when there is none.
    """
    plain = {unwrapped(name): stored for name, stored in raw.tensors.items()}
    if len(plain) < len(raw.tensors):
        plain = dict(raw.tensors)
    for prefix in shared_prefixes(plain):
        tensors = {name.removeprefix(prefix): stored for name, stored in plain.items()}
        if len(tensors) < len(plain):
            continue
        for family in FAMILIES:
            view = family.arranged(replace(raw, tensors=tensors))
            if family.matches(view):
                return Recognised(family, view)
    raise CheckpointError(_unknown(raw))


_SAME_LAYOUT = {"mistral": "llama", "qwen2": "llama", "qwen3": "llama", "mt5": "t5"}
"""Types of models -> the family that has their names."""


def _unknown(raw: RawCheckpoint) -> str:
    families = {family.name: family.label for family in FAMILIES if family.name != "headlight"}
    known = ", ".join(families.values())
    config = ForeignConfig.of(raw)
    if config is None or "model_type" not in config:
        return (
            f"No known layout: the first tensors are called {_first_names(raw)}. Headlight opens {known}; "
            "give the whole folder if there is a config.json."
        )
    model_type = str(config.get("model_type"))
    label = families.get(_SAME_LAYOUT.get(model_type, model_type))
    if label is not None:
        return _other_names_than(label, raw)
    return (
        f"config.json says model_type {short(model_type)}, which Headlight does not open: choose a model of "
        f"one of the kinds that it opens, {known}."
    )


def _other_names_than(label: str, raw: RawCheckpoint) -> str:
    parts = {part for name in raw.tensors for part in name.split(".")}
    if "decoder" in parts and "encoder" not in parts:
        return (
            f"The files hold the decoder of {label} alone, and Headlight opens it with its encoder: give the "
            "folder of the whole model."
        )
    return (
        f"By its config.json the model is {label}, but its tensors are not called so: the first are "
        f"{_first_names(raw)}. Give the model as transformers saves it (save_pretrained), neither quantised "
        "nor converted."
    )


def _first_names(raw: RawCheckpoint) -> str:
    return ", ".join(short(name) for name in list(raw.tensors)[:3])


def _check_cost(config: TransformerConfig) -> None:
    """Refuse what would cost time or memory before names and shapes are compared.

    Raises:
        CheckpointError: for more layers than any model has, or larger sizes.
    """
    layers = config.n_encoder_layers + config.n_decoder_layers
    if layers > _MOST_LAYERS:
        raise CheckpointError(f"The checkpoint describes {layers} layers; at most {_MOST_LAYERS} are opened.")
    limits = {name: LARGEST_SIZE for name, value in config.to_dict().items() if type(value) is int}
    limits["max_position_distance"] = _LONGEST_DISTANCE
    if config.positions == "sinusoidal":
        limits["max_len"] = _LARGEST_TABLE // config.d_model
    for name, limit in limits.items():
        value = getattr(config, name)
        if value > limit:
            raise CheckpointError(
                f"The checkpoint describes a model with {name} {short(value)}; at most {limit:,} is opened."
            )


def _report(found: Recognised, reading: ConfigReading, plan: Plan) -> ImportReport:
    return ImportReport(
        family=found.family.name,
        family_label=found.family.label,
        config=reading.config,
        settings=reading.settings,
        questions=reading.questions,
        keys=plan.keys,
        notes=(*_notes_on_config(found.raw), *reading.notes, *_notes_on_stand_ins(plan)),
    )


def _notes_on_config(raw: RawCheckpoint) -> tuple[str, ...]:
    if not (raw.path.is_file() and raw.path.with_name("config.json").is_file()):
        return ()
    return ("A config.json lies beside this file and was not read: open the folder, and it tells much more.",)


def _notes_on_stand_ins(plan: Plan) -> tuple[str, ...]:
    drawn = [name for name, kind in plan.stand_ins.items() if kind == "drawn"]
    zeros = [name for name, kind in plan.stand_ins.items() if kind == "zeros" and not drawn]
    notes = []
    if drawn:
        notes.append(
            f"The files have no numbers for {_listed(drawn)}: numbers drawn at random stand in for them, so "
            "what the model makes of a sentence means nothing; how its layers work can still be seen."
        )
    if zeros:
        notes.append(
            f"The files have no numbers for {_listed(zeros)}: zeros take their place, which adds nothing."
        )
    return tuple(notes)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
