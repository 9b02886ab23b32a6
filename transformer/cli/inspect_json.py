"""The output of `inspect --json`."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from transformer.analysis.doctor.findings import Diagnosis
from transformer.analysis.parts import Part, parts_of, total
from transformer.checkpoints.importing.report import Imported


def to_plain(imported: Imported, diagnosis: Diagnosis | None) -> dict[str, Any]:
    """All information on a checkpoint as plain values; findings are None if the weights were not read."""
    report, raw = imported.report, imported.raw
    parts = parts_of(report.config)
    plain = {
        "path": str(raw.path),
        "format": raw.format,
        "files": [str(file) for file in raw.files],
        "n_bytes": raw.n_bytes,
        "n_tensors": len(raw.tensors),
        "left_out": dict(raw.left_out),
        "family": report.family,
        "family_label": report.family_label,
        "config": report.config.to_dict(),
        "settings": [asdict(setting) for setting in report.settings],
        "questions": [asdict(question) for question in report.questions],
        "answers": None if diagnosis is None or diagnosis.answers is None else asdict(diagnosis.answers),
        "notes": list(report.notes),
        "keys": asdict(report.keys),
        "n_parameters": total(parts),
        "parts": [_part(part) for part in parts],
        "checks": None if diagnosis is None else list(diagnosis.checks),
        "findings": None if diagnosis is None else [asdict(finding) for finding in diagnosis.findings],
    }
    return {name: _finite(value) for name, value in plain.items()}


def _part(part: Part) -> dict[str, Any]:
    return {
        "path": part.path,
        "n_parameters": part.n_parameters,
        "weights": {name: list(shape) for name, shape in part.weights},
        "parts": [_part(inner) for inner in part.parts],
    }


def _finite(value: Any) -> Any:
    """Replace numbers that are not valid in JSON by None."""
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
