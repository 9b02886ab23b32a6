"""Files of a training run, in a sub-folder of the model's folder."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from transformer.files import write_json
from transformer.training.plan import PlanError, TrainingPlan
from transformer.training.snapshots import FOLDER as SNAPSHOTS
from transformer.training.snapshots import drop_snapshots

_BEGINNING = re.compile(
    r"(training(/(plan\.json|lock|metrics\.jsonl|corpus|tensorboard|best|weights-\d+\.safetensors))?"
    r"|training/corpus/(coders\.json|corpus\.json|(source|target)\.(ids|offsets))"
    r"|training/best/(model\.safetensors|(vocabulary|experience|config)\.json|README\.md|replacing\.txt)"
    r"|training/tensorboard/events\.out\.tfevents\.[^/]+"
    rf"|{SNAPSHOTS}(/\d+(/model\.safetensors)?)?)(\.part)?"
    r"|training/state\.safetensors\.part"
)
"""Paths that a run may write before its first state; with .part if it was killed while it wrote them."""


class TrainingFolder:
    """The files of one training run.

    Attributes:
        out: the folder of the finished model.
        path: the run's own folder inside `out`; not needed once the model is finished.
        lock: file locked by the process that writes here.
        plan: all options.
        corpus: the encoded corpus.
        coders: its vocabularies.
        state: everything needed to resume.
        metrics: JSON lines: one every few updates and one per validation.
        tensorboard: TensorBoard's files.
        best: the model with the best validation so far.
        last: the model after the last update.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.path = out / "training"
        self.lock = self.path / "lock"
        self.plan = self.path / "plan.json"
        self.corpus = self.path / "corpus"
        self.coders = self.corpus / "coders.json"
        self.state = self.path / "state.safetensors"
        self.metrics = self.path / "metrics.jsonl"
        self.tensorboard = self.path / "tensorboard"
        self.best = self.path / "best"
        self.last = self.path / "last"

    def is_free(self) -> bool:
        """True if a run can start here without overwriting anything.

        The folder must be empty, or contain only the files of a run that ended before its first state.

        Raises:
            OSError: when the folder can't be read.
        """
        found = list(self.out.rglob("*")) if self.out.is_dir() else []
        if not all(self._is_of_a_beginning(path) for path in found):
            return False
        if not self.plan.exists():  # then it may contain only the empty lock file, and a plan never renamed
            files = [path for path in found if path.is_file() and path.name != f"{self.plan.name}.part"]
            return not any(path.stat().st_size for path in files)
        try:
            self.saved_plan()
        except PlanError:
            return False
        return True

    def _is_of_a_beginning(self, path: Path) -> bool:
        """True for a path that a run writes before its first state; never for a link."""
        name = path.relative_to(self.out).as_posix()
        return not path.is_symlink() and _BEGINNING.fullmatch(name) is not None

    def clear(self) -> None:
        """Remove an earlier run's files, except its encoded corpus, which may be reused."""
        self.state.unlink(missing_ok=True)
        for folder in (self.best, self.last, self.tensorboard):
            shutil.rmtree(folder, ignore_errors=True)
        drop_snapshots(self.out)

    def save_plan(self, plan: TrainingPlan) -> None:
        """Write the options. Raises OSError."""
        write_json(self.plan, plan.to_dict())

    def saved_plan(self) -> TrainingPlan:
        """Read the options of the run in this folder.

        Raises:
            PlanError: if there is no run, or its options can't be read.
        """
        try:
            return TrainingPlan.from_dict(json.loads(self.plan.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise PlanError(
                f"There is no run in {self.out}: name its folder with --out, or leave --resume out."
            ) from error
        except (OSError, ValueError) as error:
            raise PlanError(f"{self.plan} can't be read ({error}): start again in another folder.") from error
