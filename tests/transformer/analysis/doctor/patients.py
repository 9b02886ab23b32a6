"""Models for the doctor's tests: one of ours as if imported, and ways to break it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from tests.support.models import tiny_model
from transformer.analysis.doctor.examine import examine
from transformer.checkpoints.importing.report import Imported, ImportReport, KeyReport
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor
from transformer.loaded import LoadedModel
from transformer.model.transformer import Transformer

Weights = dict[str, torch.Tensor]


def imported(
    loaded: LoadedModel, keys: KeyReport | None = None, tensors: Mapping[str, StoredTensor] | None = None
) -> Imported:
    """The model as if imported from a folder; every tensor name fits unless `keys` says otherwise."""
    raw = RawCheckpoint(Path("folder"), "safetensors", tensors or {}, {}, {}, {}, {}, 0, ())
    report = ImportReport(
        "ours", "Headlight's own", loaded.model.config, (), (), loaded.settings, keys or KeyReport()
    )
    return Imported(loaded if report.keys.fits else None, report, raw)


def pre_norm_model(seed: int = 0, **changes: Any) -> LoadedModel:
    """A tiny model in which a norm can be broken without affecting later layers."""
    return tiny_model(seed, **({"norm_position": "pre", "final_norm": True} | changes))


def broken(loaded: LoadedModel, damage: Callable[[Weights], object]) -> LoadedModel:
    """A copy of the model; `damage` gets its parameters by name and modifies them in place."""
    model = deepcopy(loaded.model)
    damage(dict(model.named_parameters()))
    return with_model(loaded, model)


def with_model(loaded: LoadedModel, model: Transformer) -> LoadedModel:
    """The same tokenizers with another model."""
    return replace(loaded, model=model.eval().requires_grad_(False))


def complaints(loaded: LoadedModel, text: str = "") -> list[tuple[str, str]]:
    """Check and severity of every warning and problem."""
    found = examine(imported(loaded), text).of("problem", "warning")
    return [(finding.check, finding.severity) for finding in found]
