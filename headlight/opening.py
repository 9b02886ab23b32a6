"""Models: the shipped ones by name, anyone's by path."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer.checkpoints.folder import LoadedModel
from transformer.checkpoints.importing.families.own_layout.mapping_file import text_of
from transformer.checkpoints.importing.report import ImportReport
from transformer.checkpoints.opening import open_any
from transformer.device import choose_device


def open(
    name_or_path: str | Path,
    *,
    answers: Mapping[str, Any] | None = None,
    map: str | Path | None = None,  # noqa: A002 - as the option of the command line is called
    device: str = "cpu",
) -> LoadedModel:
    """Open a model, ready to run: ``headlight.open("en-it")``.

    What a checkpoint's files don't tell and `answers` don't say is assumed, with a warning that lists it.

    Args:
        name_or_path: a shipped model (en-it, toy-en-it), or a file of weights or a folder of anyone's.
        answers: such as ``{"n_heads": 8}``; `headlight.inspect` lists the questions.
        map: path of a mapping file, for a layout that is not known; see docs/checkpoints.md.
        device: cpu, cuda or mps.

    Raises:
        headlight.CheckpointError: when there is no such model, or it can't be run.
        transformer.device.DeviceError: when there is no such device.
    """
    reports: list[ImportReport] = []
    loaded = open_any(
        str(name_or_path),
        answers=answers,
        mapping=None if map is None else text_of(map),
        device=choose_device(device),
        on_report=reports.append,
    )
    assumed = [asked for report in reports for asked in report.questions if not asked.answered]
    if assumed:
        values = ", ".join(f"{asked.name}={asked.value!r}" for asked in assumed)
        warnings.warn(
            f"{name_or_path} does not tell everything, so this was assumed: {values}. What can be answered "
            "is in headlight.inspect(path).questions; answer with headlight.open(path, answers={...}).",
            stacklevel=2,
        )
    return loaded
