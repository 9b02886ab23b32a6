"""Open models: shipped ones by name, others by path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer.checkpoints.importing.layout.file import text_of
from transformer.checkpoints.importing.report import ImportReport
from transformer.checkpoints.opening import open_model, warn_of_assumptions
from transformer.device import choose_device
from transformer.loaded import LoadedModel


def open(
    name_or_path: str | Path,
    *,
    answers: Mapping[str, Any] | None = None,
    mapping: str | Path | None = None,
    device: str = "cpu",
) -> LoadedModel:
    """Open a model, ready to run: ``headlight.open("en-it")``.

    Settings that neither the checkpoint's files nor `answers` give are assumed; a warning lists them.

    Args:
        name_or_path: a shipped model (en-it, toy-en-it), or the path of a file of weights or a folder.
        answers: answers such as ``{"n_heads": 8}``; `headlight.inspect` lists the questions.
        mapping: path of a mapping file, for an unknown layout; see docs/checkpoints.md.
        device: cpu, cuda or mps.

    Raises:
        headlight.CheckpointError: there is no such model, or it can't be run.
        transformer.device.DeviceError: there is no such device.
    """
    reports: list[ImportReport] = []
    loaded = open_model(
        name_or_path,
        choose_device(device),
        answers=answers,
        mapping=None if mapping is None else text_of(mapping),
        on_report=reports.append,
    )
    for report in reports:
        warn_of_assumptions(name_or_path, report, stacklevel=3)
    return loaded
