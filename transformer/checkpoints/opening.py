"""Opens a model from a path or from a checkpoint already read."""

from __future__ import annotations

import math
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoints.folder import open_folder
from transformer.checkpoints.importing.family import StandIn
from transformer.checkpoints.importing.low_rank import numbers_of
from transformer.checkpoints.importing.mapping import WeightPlan, joined
from transformer.checkpoints.importing.recognition import (
    ImportPlan,
    plan_import,
    wanted_weights,
    with_mapping,
)
from transformer.checkpoints.importing.report import Imported, ImportReport, KeyReport, TiedKey
from transformer.checkpoints.places import is_own, place_of
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, Limits
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor
from transformer.checkpoints.tokenizers.coders import coders_of
from transformer.checkpoints.weights import ties
from transformer.errors import CheckpointError, shown
from transformer.loaded import LoadedModel, freeze
from transformer.model.transformer import Transformer

_SEED = 0
"""Seed of the random values for weights that the files lack, so that every opening gives the same model."""


def open_checkpoint(
    name_or_path: str | Path,
    *,
    answers: Mapping[str, Any] | None = None,
    mapping: str | None = None,
    limits: Limits = LOCAL_LIMITS,
    device: torch.device | None = None,
) -> Imported:
    """Open any checkpoint: a weights file, or a folder with its configuration and tokenizer.

    No code in it is executed; see `transformer.checkpoints.reading`. The validated tensor data is in a
    temporary folder, which is removed when the returned object is.

    Args:
        name_or_path: path of the file or folder, or name of a shipped model.
        answers: question -> answer; unanswered questions get their likeliest value.
        mapping: text of a mapping file, for an unknown layout; see `importing.families.own_layout`.
        limits: files that exceed these are refused.
        device: the device to run on; the CPU by default.

    Raises:
        CheckpointError: when it can't be read, or Headlight's model does not support it.
    """
    return _open(place_of(name_or_path), answers or {}, mapping, limits, device)


def _open(
    path: Path, answers: Mapping[str, Any], mapping: str | None, limits: Limits, device: torch.device | None
) -> Imported:
    folder = Path(tempfile.mkdtemp(prefix="headlight-"))
    try:
        raw = with_mapping(read_checkpoint(path, limits, folder, wanted=wanted_weights(answers)), mapping)
        imported = import_raw(raw, answers, device=device)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(imported, shutil.rmtree, folder, ignore_errors=True)
    return imported


def open_model(
    name_or_path: str | Path,
    device: torch.device | None = None,
    *,
    answers: Mapping[str, Any] | None = None,
    mapping: str | None = None,
    on_report: Callable[[ImportReport], None] | None = None,
) -> LoadedModel:
    """Open a shipped model by name, or any other by path; the model is frozen and ready to run.

    Args:
        name_or_path: a shipped model's name, or the path of a weights file or of a folder: saved by Headlight
            or another program, or in Hugging Face's cache.
        device: the device to run on; the CPU by default.
        answers: as in `open_checkpoint`.
        mapping: as in `open_checkpoint`.
        on_report: called with the report on a checkpoint not saved by Headlight; by default a warning lists
            the assumptions.

    Raises:
        CheckpointError: when there is no such model, or it can't be run.
    """
    path = place_of(name_or_path)
    if mapping is None and is_own(path):
        return open_folder(path, device)
    imported = _open(path, answers or {}, mapping, LOCAL_LIMITS, device)
    if on_report is None:
        warn_of_assumptions(name_or_path, imported.report, stacklevel=3)
    else:
        on_report(imported.report)
    if imported.loaded is None:
        raise CheckpointError(f"{name_or_path} {_misfits(imported.report.keys)}")
    return imported.loaded


def _misfits(keys: KeyReport) -> str:
    """The first tensors that are missing or of another shape, and where to see the others."""
    problems = [f"{shown(problem.name)} is missing" for problem in keys.missing]
    problems += [f"{shown(problem.name)} is {problem.detail}" for problem in keys.misshaped]
    more = f" and {len(problems) - 3:,} more" if len(problems) > 3 else ""
    return (
        "lacks weights, or has some of other shapes: "
        f"{', '.join(problems[:3])}{more}. `python -m transformer inspect` lists them."
    )


def warn_of_assumptions(name_or_path: str | Path, report: ImportReport, *, stacklevel: int) -> None:
    """Warn about assumed answers and about what was left out; `stacklevel` as in `warnings`."""
    if report.assumed:
        values = ", ".join(f"{asked.name}={asked.value!r}" for asked in report.assumed)
        warnings.warn(
            f"{name_or_path} leaves questions open, so this was assumed: {values}. headlight.inspect(path)"
            ".questions lists them; open it again with answers={...}.",
            stacklevel=stacklevel,
        )
    for caution in report.cautions:
        warnings.warn(f"{name_or_path}: {caution}", stacklevel=stacklevel)


def import_raw(
    raw: RawCheckpoint, answers: Mapping[str, Any] | None = None, *, device: torch.device | None = None
) -> Imported:
    """Convert a checkpoint already read to Headlight's model; opens no files except those with its tensors.

    Raises:
        CheckpointError: for an unknown layout, an unsupported model, or wrong answers.
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
        settings=report.generation,
    )
    return Imported(loaded, replace(report, keys=keys), raw)


def fill(plan: ImportPlan) -> Transformer:
    """Fill the plan's skeleton with its weights, whose names must match.

    Weights stored as float32 are views of their file, others are converted to float32: there is no second
    copy.
    """
    model = plan.skeleton
    tied = ties(model)
    weights = dict(_stored(model, plan.weights)) | dict(_standing_in(model, plan.weights))
    model.load_state_dict(weights, strict=False, assign=True)
    for name, first in tied.items():
        owner, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(owner), attribute, model.get_parameter(first))
    all_tensors = chain(model.named_parameters(), model.named_buffers())
    empty = [name for name, weight in all_tensors if weight.is_meta]
    if empty:
        raise AssertionError(f"{', '.join(empty)} got no numbers")
    return model


def compare_ties(copies: Iterable[TiedKey], tensors: Iterable[StoredTensor]) -> tuple[TiedKey, ...]:
    """Check whether weights that the model ties but the files store twice are equal."""
    by_name = {stored.name: stored for stored in tensors}

    def is_equal(copy: TiedKey) -> bool:
        one, other = map_tensor(by_name[copy.name]), map_tensor(by_name[copy.to])
        return one.numel() == other.numel() and torch.equal(one.flatten(), other.flatten().to(one.dtype))

    return tuple(replace(copy, equal=is_equal(copy)) for copy in copies)


def _stored(model: Transformer, plan: WeightPlan) -> Iterator[tuple[str, Tensor]]:
    for assignment in plan.assignments:
        numbers = joined([numbers_of(part).to(torch.float32) for part in assignment.parts])
        yield from zip(assignment.names, assignment.transform(numbers, model.config), strict=True)


def _standing_in(model: Transformer, plan: WeightPlan) -> Iterator[tuple[str, Tensor]]:
    generator = torch.Generator().manual_seed(_SEED)
    for name, kind in plan.stand_ins.items():
        yield name, _stand_in(kind, model.get_parameter(name).shape, generator)


def _stand_in(kind: StandIn, shape: torch.Size, generator: torch.Generator) -> Tensor:
    if kind in ("zeros", "ones"):
        return torch.zeros(shape) if kind == "zeros" else torch.ones(shape)
    if kind == "doubled_sinusoids":
        return _doubled_sinusoids(*shape)
    # The usual initial scale of embeddings; other matrices start at about the same scale.
    return torch.randn(shape, generator=generator) / math.sqrt(shape[-1])


def _doubled_sinusoids(length: int, d_model: int) -> Tensor:
    """(length, d_model): sin(pos / 10000^(2i / d_model)) where i is even, the cosine where it is odd.

    Some programs number components, where the paper numbers pairs of them (section 3.5).
    """
    i = torch.arange(d_model, dtype=torch.float64)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * 10_000 ** (-2 * i / d_model)
    return torch.where(i % 2 == 0, angle.sin(), angle.cos()).float()
