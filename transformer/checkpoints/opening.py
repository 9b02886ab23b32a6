"""From a path, or from a checkpoint that was read, to a model that runs."""

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
from transformer.checkpoints.importing.mapping import WeightPlan, joined
from transformer.checkpoints.importing.recognition import (
    ImportPlan,
    plan_import,
    wanted_weights,
    with_mapping,
)
from transformer.checkpoints.importing.report import Imported, ImportReport, TiedKey
from transformer.checkpoints.places import is_own, place_of
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, Limits
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor
from transformer.checkpoints.tokenizers.coders import coders_of
from transformer.checkpoints.weights import ties
from transformer.errors import CheckpointError
from transformer.loaded import LoadedModel, freeze
from transformer.model.transformer import Transformer

_SEED = 0
"""Of numbers that stand in for weights that the files lack: the same at each opening."""


def open_checkpoint(
    name_or_path: str | Path,
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
        name_or_path: of the file or folder; a shipped model's name will do.
        answers: to questions of an earlier report, by name. Those left out get their likely value.
        mapping: text of a mapping file, for a layout that is not known; see `importing.families.own_layout`.
        limits: what is refused.
        device: where the model is to run; the CPU when left out.

    Raises:
        CheckpointError: when it can't be read, or is no model that ours computes.
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
    """Open a shipped model by its name, or anyone's by its path; ready to run and frozen.

    Args:
        name_or_path: of a shipped model, a file of weights, or a folder: Headlight's own, one that somebody
            else's program saved, or one of Hugging Face's cache.
        device: where it is to run; the CPU when left out.
        answers: to what the files of a checkpoint don't tell, by name; see `open_checkpoint`.
        mapping: as there.
        on_report: called with what is said about a checkpoint that is not of our own folders; when left
            out, a warning lists what was assumed.

    Raises:
        CheckpointError: when there is none, or it can't be run.
    """
    path = place_of(name_or_path)
    if is_own(path):
        return open_folder(path, device)
    imported = _open(path, answers or {}, mapping, LOCAL_LIMITS, device)
    if on_report is None:
        warn_of_assumptions(name_or_path, imported.report, stacklevel=3)
    else:
        on_report(imported.report)
    if imported.loaded is None:
        raise CheckpointError(
            f"{name_or_path} lacks weights, or has some of other shapes: `python -m transformer inspect` "
            "lists them."
        )
    return imported.loaded


def warn_of_assumptions(name_or_path: str | Path, report: ImportReport, *, stacklevel: int) -> None:
    """Warn of what the files don't tell and nobody answered; `stacklevel` as in `warnings`."""
    if report.assumed:
        values = ", ".join(f"{asked.name}={asked.value!r}" for asked in report.assumed)
        warnings.warn(
            f"{name_or_path} does not tell everything, so this was assumed: {values}. What can be answered "
            "is in headlight.inspect(path).questions; open it again with answers={...}.",
            stacklevel=stacklevel,
        )


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
        settings=report.generation,
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
        numbers = joined([map_tensor(part).to(torch.float32) for part in assignment.parts])
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
