"""Identifies or refuses a checkpoint by its names, shapes and configuration, without importing torch."""

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
    """Identify a checkpoint by its names, shapes and configuration, without reading any weight.

    Raises:
        CheckpointError: as `opening.open_checkpoint` does.
    """
    raw = with_mapping(read_checkpoint(place_of(name_or_path), wanted=wanted_weights(answers)), mapping)
    return Imported(None, plan_import(raw, answers or {}).report, raw)


def check_checkpoint(name_or_path: str | Path, answers: Mapping[str, Any], mapping: str | None) -> None:
    """Refuse a checkpoint whose names, shapes or configuration `opening.open_model` would refuse.

    This takes 0.2 s; importing torch, which opening needs, takes more than 1 s.

    Raises:
        CheckpointError: as `opening.open_model` does.
    """
    path = place_of(name_or_path)
    if mapping is not None or not is_own(path):
        described(with_mapping(read_checkpoint(path, wanted=wanted_weights(answers)), mapping), answers)
