"""The largest errors measured by the tests of the families, for the table in docs/checkpoints.md.

If PARITY_FIGURES names a file, each comparison and each question is appended to it as JSON, one object per
line; `scripts/parity.py` makes the table from them.
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
    """Errors of one test, attributed to the model that it imported last."""

    def __init__(self) -> None:
        self._family: str | None = None

    def forget(self) -> None:
        """Before each test: attribute comparisons to no family until a model is imported."""
        self._family = None

    def note_import(self, report: ImportReport) -> None:
        """Attribute later comparisons to this report's family."""
        self._family = report.family
        self._write(asked=[question.name for question in report.questions])

    def note_error(self, actual: Tensor, expected: Tensor) -> None:
        """Record the largest error, relative to the largest expected value."""
        largest = expected.abs().max().item()
        if largest and self._family is not None:
            self._write(kind=_kind(expected), error=(actual - expected).abs().max().item() / largest)

    def _write(self, **noted: Any) -> None:
        if FILE in os.environ:
            with Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"family": self._family} | noted) + "\n")


def _kind(expected: Tensor) -> str:
    """Attention is never negative and its rows sum to 1, or to 0 where everything is masked."""
    sums = expected.sum(dim=-1)
    rows = ((sums - 1).abs() < _ROUNDING) | (sums == 0)
    return "attention" if bool(rows.all()) and bool((expected >= 0).all()) else "logits"


FIGURES = Figures()
