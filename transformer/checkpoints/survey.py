"""Identifies a checkpoint by its names, shapes and configuration; refuses without importing torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer.checkpoints.importing.recognition import described, plan_import, wanted_weights, with_mapping
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.places import is_own, place_of
from transformer.checkpoints.reading.process import read_checkpoint


def survey_checkpoint(
    name_or_path: str | Path, *, answers: Mapping[str, Any] | None = None, mapping: str | None = None
) -> Imported:
    """Identify a checkpoint by its names, shapes and configuration: no weight is read.

    Raises:
        CheckpointError: as `opening.open_checkpoint` does.
    """
    raw = with_mapping(read_checkpoint(place_of(name_or_path), wanted=wanted_weights(answers)), mapping)
    return Imported(None, plan_import(raw, answers or {}).report, raw)


def check_checkpoint(name_or_path: str | Path, answers: Mapping[str, Any]) -> None:
    """Refuse what `opening.open_model` would refuse for its names, shapes or configuration.

    It takes a fifth of a second; importing torch, which opening needs, takes more than one.

    Raises:
        CheckpointError: as `opening.open_model` does.
    """
    path = place_of(name_or_path)
    if not is_own(path):
        described(read_checkpoint(path, wanted=wanted_weights(answers)), answers)
