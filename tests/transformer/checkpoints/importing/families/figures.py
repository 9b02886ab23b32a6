"""The worst errors that the tests of the families measure, for the table in docs/checkpoints.md.

Where the environment names a file in PARITY_FIGURES, each comparison and each question is written to it as
JSON, one object per line; `scripts/parity.py` makes the table of them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer.checkpoints.importing.report import ImportReport

FILE = "PARITY_FIGURES"
_ROUNDING = 1e-3


class Figures:
    """The figures of one test, which belong to the model that it imported last."""

    def __init__(self) -> None:
        self._family: str | None = None

    def forget(self) -> None:
        """Before each test: comparisons belong to no family until a model is imported."""
        self._family = None

    def note_import(self, report: ImportReport) -> None:
        """Comparisons from now on belong to this report's family."""
        self._family = report.family
        self._write(asked=[question.name for question in report.questions])

    def note_error(self, actual: Tensor, expected: Tensor) -> None:
        """Write down the largest error, as a share of the largest number."""
        largest = expected.abs().max().item()
        if largest and self._family is not None:
            self._write(kind=_kind(expected), error=(actual - expected).abs().max().item() / largest)

    def _write(self, **noted: Any) -> None:
        if FILE in os.environ:
            with Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"family": self._family} | noted) + "\n")


def _kind(expected: Tensor) -> str:
    """Attention is never negative, and its rows sum to 1, or to 0 where all keys are masked."""
    sums = expected.sum(dim=-1)
    rows = ((sums - 1).abs() < _ROUNDING) | (sums == 0)
    return "attention" if bool(rows.all()) and bool((expected >= 0).all()) else "logits"


FIGURES = Figures()
