"""From a path, or from a checkpoint that was read, to a model that runs."""

from __future__ import annotations

import math
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoints.folder import VOCABULARY, LoadedModel, freeze, open_model, shipped_models
from transformer.checkpoints.importing.family import StandIn
from transformer.checkpoints.importing.mapping import WeightPlan
from transformer.checkpoints.importing.recognition import ImportPlan, plan_import
from transformer.checkpoints.importing.report import Imported, ImportReport, TiedKey
from transformer.checkpoints.reading.folder_files import MAPPING
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, Limits
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor
from transformer.checkpoints.tokenizers.coders import coders_of
from transformer.checkpoints.weights import ties
from transformer.errors import CheckpointError, shown
from transformer.model.transformer import Transformer

_SEED = 0
"""Of numbers that stand in for weights that the files lack: the same at each opening."""


def open_checkpoint(
    path: str | Path,
    *,
    answers: Mapping[str, Any] | None = None,
    mapping: str | None = None,
    limits: Limits = LOCAL_LIMITS,
    device: torch.device | None = None,
) -> Imported:
    """Open anyone's checkpoint: a file of weights, or a folder with its configuration and tokenizer.

    Nothing in it is executed; see `transformer.checkpoints.reading`. The validated numbers lie in a folder of
    their own, which goes when what is returned does.

    Args:
        path: of the file or folder.
        answers: to questions of an earlier report, by name. Those left out get their likely value.
        mapping: text of a mapping file, for a layout that is not known; see `importing.families.own_layout`.
        limits: what is refused.
        device: where the model is to run; the CPU when left out.

    Raises:
        CheckpointError: when it can't be read, or is no model that ours computes.
    """
    path, folder = at_home(path), Path(tempfile.mkdtemp(prefix="headlight-"))
    try:
        raw = with_mapping(read_checkpoint(path, limits, folder), mapping)
        imported = import_raw(raw, answers or {}, device=device)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(imported, shutil.rmtree, folder, ignore_errors=True)
    return imported


def open_any(
    name_or_path: str | Path,
    *,
    answers: Mapping[str, Any] | None = None,
    mapping: str | None = None,
    device: torch.device | None = None,
    on_report: Callable[[ImportReport], None],
) -> LoadedModel:
    """Open a shipped model by its name, a folder of our own, or anyone's checkpoint.

    Args:
        name_or_path: of the model.
        answers: to what the files of a checkpoint don't tell, by name; see `open_checkpoint`.
        mapping: as there.
        device: where it is to run; the CPU when left out.
        on_report: called with what is said about a checkpoint that is not of our own folders.

    Raises:
        CheckpointError: when there is none, or it can't be run.
    """
    path = at_home(name_or_path)
    if name_or_path in shipped_models() or not path.exists() or (path / VOCABULARY).is_file():
        return open_model(str(name_or_path), device)
    imported = open_checkpoint(path, answers=answers, mapping=mapping, device=device)
    on_report(imported.report)
    if imported.loaded is None:
        raise CheckpointError(
            f"{name_or_path} lacks weights, or has some of other shapes: `python -m transformer inspect` "
            "lists them."
        )
    return imported.loaded


def survey_checkpoint(
    path: str | Path, *, answers: Mapping[str, Any] | None = None, mapping: str | None = None
) -> Imported:
    """Say what a checkpoint is by its names, shapes and configuration, without a model: no weight is read.

    Raises:
        CheckpointError: as `open_checkpoint` does.
    """
    raw = with_mapping(read_checkpoint(at_home(path)), mapping)
    return Imported(None, plan_import(raw, answers or {}).report, raw)


def with_mapping(raw: RawCheckpoint, mapping: str | None) -> RawCheckpoint:
    """The checkpoint with a mapping file beside its weights, in the place of its own if it has one."""
    return raw if mapping is None else replace(raw, texts={**raw.texts, MAPPING: mapping})


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


def fill(plan: ImportPlan) -> Transformer:
    """Give the plan's skeleton its weights; the names must fit.

    Weights stored as float32 are views of their file, others become float32: there is no second copy.
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
    """Look whether weights that are stored twice though the model ties them hold the same numbers."""
    by_name = {stored.name: stored for stored in tensors}

    def is_equal(copy: TiedKey) -> bool:
        one, other = map_tensor(by_name[copy.name]), map_tensor(by_name[copy.to])
        return one.numel() == other.numel() and torch.equal(one.flatten(), other.flatten().to(one.dtype))

    return tuple(replace(copy, equal=is_equal(copy)) for copy in copies)


def _stored(model: Transformer, plan: WeightPlan) -> Iterator[tuple[str, Tensor]]:
    for assignment in plan.assignments:
        numbers = map_tensor(assignment.stored).to(torch.float32)
        yield from zip(assignment.names, assignment.transform(numbers, model.config), strict=True)


def _standing_in(model: Transformer, plan: WeightPlan) -> Iterator[tuple[str, Tensor]]:
    generator = torch.Generator().manual_seed(_SEED)
    for name, kind in plan.stand_ins.items():
        yield name, _stand_in(kind, model.get_parameter(name).shape, generator)


def _stand_in(kind: StandIn, shape: torch.Size, generator: torch.Generator) -> Tensor:
    if kind in ("zeros", "ones"):
        return torch.zeros(shape) if kind == "zeros" else torch.ones(shape)
    # The size that embeddings begin training with; sublayers' matrices get about as much.
    return torch.randn(shape, generator=generator) / math.sqrt(shape[-1])


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
        raise CheckpointError(f"{shown(str(path))} begins in nobody's home: type the whole path.") from error
