"""What a checkpoint is, and what is wrong with it."""

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
from transformer.checkpoints.importing.families.own_layout.mapping_file import text_of
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.opening import open_checkpoint
from transformer.checkpoints.places import MODELS, shipped_models
from transformer.checkpoints.survey import survey_checkpoint
from transformer.cli.inspect_json import to_plain
from transformer.cli.inspect_text import to_text


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What was found out about a checkpoint; printed, it is the text of ``headlight inspect``."""

    imported: Imported
    diagnosis: Diagnosis | None

    def __repr__(self) -> str:
        return to_text(self.imported, self.diagnosis)

    @property
    def findings(self) -> pd.DataFrame:
        """What the doctor says, the worst first; empty where the numbers were not looked at."""
        found = self.diagnosis.of(*SEVERITIES) if self.diagnosis else ()
        columns = ["severity", "title", "number", "meaning", "advice", "where", "check"]
        return pd.DataFrame([asdict(finding) for finding in found], columns=columns)

    @property
    def settings(self) -> pd.DataFrame:
        """Each value of the configuration, and where it came from."""
        rows = [asdict(setting) for setting in self.imported.report.settings]
        return pd.DataFrame(rows, columns=["name", "value", "source", "why"])

    @property
    def questions(self) -> pd.DataFrame:
        """What the files don't tell: the names of `answers`, what can be answered, and what was taken."""
        rows = [
            (asked.name, asked.text, [option.value for option in asked.options], asked.value, asked.answered)
            for asked in self.imported.report.questions
        ]
        return pd.DataFrame(rows, columns=["name", "question", "options", "value", "answered"])

    @property
    def parameters(self) -> pd.DataFrame:
        """How many parameters each part of the model has, its own parts included, by the part's path."""
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
    """Say what a checkpoint is and what is wrong with it: ``headlight.inspect("model.pt")``.

    Args:
        name_or_path: a shipped model, or a file of weights or a folder of anyone's. Nothing in it is run.
        text: what the model is to be looked at with, one sentence per line; plain English when blank.
        answers: to what the files don't tell; see `Report.questions`.
        mapping: path of a mapping file, for a layout that is not known; see docs/checkpoints.md.
        quick: look at names, shapes and configuration only: no weight is read.

    Raises:
        headlight.CheckpointError: when it can't be read, or is no model that ours computes.
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
