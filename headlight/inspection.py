"""Inspect a checkpoint: its configuration, its layout and its problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from transformer.analysis.doctor.answers import weigh_answers
from transformer.analysis.doctor.examine import examine
from transformer.analysis.doctor.findings import SEVERITIES, Diagnosis
from transformer.analysis.parts import Part, parts_of
from transformer.checkpoints.importing.layout.file import text_of
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.opening import open_checkpoint
from transformer.checkpoints.places import MODELS, shipped_models
from transformer.checkpoints.survey import survey_checkpoint
from transformer.cli.inspect_json import to_plain
from transformer.cli.inspect_text import to_text


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """The findings about a checkpoint; its repr is the text of ``headlight inspect``."""

    imported: Imported
    diagnosis: Diagnosis | None

    def __repr__(self) -> str:
        return to_text(self.imported, self.diagnosis)

    @property
    def findings(self) -> pd.DataFrame:
        """The doctor's findings, worst first; empty if the weights were not examined."""
        found = self.diagnosis.of(*SEVERITIES) if self.diagnosis else ()
        columns = ["severity", "title", "number", "meaning", "advice", "where", "check"]
        return pd.DataFrame([asdict(finding) for finding in found], columns=columns)

    @property
    def settings(self) -> pd.DataFrame:
        """Each value of the configuration, with its source."""
        rows = [asdict(setting) for setting in self.imported.report.settings]
        return pd.DataFrame(rows, columns=["name", "value", "source", "why"])

    @property
    def questions(self) -> pd.DataFrame:
        """What the files don't say: the names to use in `answers`, the options, and the value used."""
        rows = [
            (asked.name, asked.text, [option.value for option in asked.options], asked.value, asked.answered)
            for asked in self.imported.report.questions
        ]
        return pd.DataFrame(rows, columns=["name", "question", "options", "value", "answered"])

    @property
    def parameters(self) -> pd.DataFrame:
        """The number of parameters of each part of the model by path, including its own parts."""
        rows = list(_counted(parts_of(self.imported.report.config)))
        return pd.DataFrame(rows, columns=["part", "parameters"]).set_index("part")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, as ``headlight inspect --json`` prints it."""
        return to_plain(self.imported, self.diagnosis)


def inspect(
    name_or_path: str | Path,
    *,
    text: str = "",
    answers: Mapping[str, Any] | None = None,
    mapping: str | Path | None = None,
    quick: bool = False,
) -> Report:
    """Examine a checkpoint: ``headlight.inspect("model.pt")``.

    Args:
        name_or_path: a shipped model, or the path of a file of weights or a folder. No code in it is run.
        text: sentences to examine the model with, one per line; plain English by default.
        answers: answers to the questions that the files leave open; see `Report.questions`.
        mapping: path of a mapping file, for an unknown layout; see docs/checkpoints.md.
        quick: examine only names, shapes and configuration, without reading weights.

    Raises:
        headlight.CheckpointError: it can't be read, or our model can't compute it.
    """
    path = MODELS / name_or_path if str(name_or_path) in shipped_models() else name_or_path
    described = None if mapping is None else text_of(mapping)
    if quick:
        return Report(survey_checkpoint(path, answers=answers, mapping=described), None)
    imported = open_checkpoint(path, answers=answers, mapping=described)
    return Report(imported, examine(imported, text, answers=weigh_answers(imported, text)))


def _counted(parts: Sequence[Part]) -> Iterator[tuple[str, int]]:
    for part in parts:
        yield part.path, part.n_parameters
        yield from _counted(part.parts)
