"""Where a training run keeps its files: beside the model that it makes, in a folder of their own."""

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
    r"training(/(plan\.json|lock|metrics\.jsonl|corpus|tensorboard))?"
    r"|training/corpus/(coders\.json|corpus\.json|(source|target)\.(ids|offsets))"
    r"|training/tensorboard/events\.out\.tfevents\.[^/]+"
    rf"|{SNAPSHOTS}(/\d+(/model\.safetensors)?)?"
)
"""The paths of all that a run may have written before its first state."""


class TrainingFolder:
    """The files of one training run.

    Attributes:
        out: the folder that will hold the finished model.
        path: the run's own folder in it: not needed any more when the model is finished.
        lock: held by the process that writes here.
        plan: all choices.
        corpus: the encoded corpus.
        coders: the vocabularies that it is encoded with.
        state: everything that is needed to resume.
        metrics: a line of JSON for every few updates and every validation.
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
        """Whether a run may begin here without anything being lost.

        It may where nothing is, and where a run ended before it saved a state (for a mistake in its
        files, say) and nobody has put anything else.

        Raises:
            OSError: when the folder can't be looked into.
        """
        found = list(self.out.rglob("*")) if self.out.is_dir() else []
        if not all(self._is_of_a_beginning(path) for path in found):
            return False
        if not self.plan.exists():  # the empty lock is all that can be there
            return not any(path.stat().st_size for path in found if path.is_file())
        try:
            self.saved_plan()
        except PlanError:
            return False
        return True

    def _is_of_a_beginning(self, path: Path) -> bool:
        """Whether a run writes this before its first state; a link may lead to anything."""
        name = path.relative_to(self.out).as_posix()
        return not path.is_symlink() and _BEGINNING.fullmatch(name) is not None

    def clear(self) -> None:
        """Remove what an earlier training left, but for its encoded corpus, which may be of use again."""
        self.state.unlink(missing_ok=True)
        for folder in (self.best, self.last, self.tensorboard):
            shutil.rmtree(folder, ignore_errors=True)
        drop_snapshots(self.out)

    def save_plan(self, plan: TrainingPlan) -> None:
        """Write the choices. Raises OSError."""
        write_json(self.plan, plan.to_dict())

    def saved_plan(self) -> TrainingPlan:
        """Read the choices of the run that was begun here.

        Raises:
            PlanError: when none was, or its choices can't be read.
        """
        try:
            return TrainingPlan.from_dict(json.loads(self.plan.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise PlanError(
                f"No run was begun in {self.out}: name its folder with --out, or leave --resume out."
            ) from error
        except (OSError, ValueError) as error:
            raise PlanError(
                f"{self.plan} can't be read ({error}): train in another folder, from the start."
            ) from error
