"""From a path, or from a checkpoint that was read, to a model that runs."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from transformer.checkpoints.folder import LoadedModel, freeze
from transformer.checkpoints.importing.foreign_config import short
from transformer.checkpoints.importing.loading import compare_ties, fill
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, Limits
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.checkpoints.tokenizers.coders import coders_of
from transformer.errors import CheckpointError


def open_checkpoint(
    path: str | Path,
    *,
    answers: Mapping[str, Any] | None = None,
    limits: Limits = LOCAL_LIMITS,
    device: torch.device | None = None,
) -> Imported:
    """Open anyone's checkpoint: a file of weights, or a folder with its configuration and tokenizer.

    Nothing in it is executed; see `transformer.checkpoints.reading`. The validated numbers lie in a folder of
    their own, which goes when what is returned does.

    Args:
        path: of the file or folder.
        answers: to questions of an earlier report, by name. Those left out get their likely value.
        limits: what is refused.
        device: where the model is to run; the CPU when left out.

    Raises:
        CheckpointError: when it can't be read, or is no model that ours computes.
    """
    path, folder = at_home(path), Path(tempfile.mkdtemp(prefix="headlight-"))
    try:
        raw = read_checkpoint(path, limits, folder)
        imported = import_raw(raw, answers or {}, device=device)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(imported, shutil.rmtree, folder, ignore_errors=True)
    return imported


def at_home(path: Path | str) -> Path:
    """The path with ~ as the home that it stands for.

    Raises:
        CheckpointError: where there is no such home, and for no path at all.
    """
    if not str(path).strip():  # to a Path, nothing is the folder that the program was started in
        raise CheckpointError("The path is empty: give that of a file of weights or of a model's folder.")
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise CheckpointError(f"{short(str(path))} begins in nobody's home: type the whole path.") from error


def survey_checkpoint(path: str | Path, *, answers: Mapping[str, Any] | None = None) -> Imported:
    """Say what a checkpoint is by its names, shapes and configuration, without a model: no weight is read.

    Raises:
        CheckpointError: as `open_checkpoint` does.
    """
    raw = read_checkpoint(at_home(path))
    return Imported(None, plan_import(raw, answers or {}).report, raw)


def import_raw(
    raw: RawCheckpoint, answers: Mapping[str, Any] | None = None, *, device: torch.device | None = None
) -> Imported:
    """Bring a checkpoint that was read into our model; no other files than its own are opened.

    Raises:
        CheckpointError: for a layout that is not known, a model that ours does not compute, wrong answers.
    """
    plan = plan_import(raw, answers or {})
    report = plan.report
    if not report.keys.fits:
        return Imported(None, report, raw)
    model = fill(plan)
    keys = replace(report.keys, tied=compare_ties(report.keys.tied, raw.tensors.values()))
    source, target, start_ids, end_ids = coders_of(raw, report.config, report.family)
    loaded = LoadedModel(
        name=raw.path.name,
        model=freeze(model.to(device or torch.device("cpu"))),
        source=source,
        target=target,
        card=str(raw.texts.get("README.md", "")),
        start_ids=start_ids,
        end_ids=end_ids,
    )
    return Imported(loaded, replace(report, keys=keys), raw)
