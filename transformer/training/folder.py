"""Where a training run keeps its files: beside the model that it makes, in a folder of their own."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
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


@dataclass(frozen=True)
class TrainingFolder:
    """The files of one training run.

    Attributes:
        out: the folder that will hold the finished model.
    """

    out: Path

    @property
    def path(self) -> Path:
        """The run's own folder: not needed any more when the model is finished."""
        return self.out / "training"

    @property
    def lock(self) -> Path:
        """Held by the process that writes here."""
        return self.path / "lock"

    @property
    def plan(self) -> Path:
        """All choices."""
        return self.path / "plan.json"

    @property
    def corpus(self) -> Path:
        """The encoded corpus."""
        return self.path / "corpus"

    @property
    def coders(self) -> Path:
        """The vocabularies that it is encoded with."""
        return self.corpus / "coders.json"

    @property
    def state(self) -> Path:
        """Everything that is needed to resume."""
        return self.path / "state.safetensors"

    @property
    def metrics(self) -> Path:
        """A line of JSON for every few updates and every validation."""
        return self.path / "metrics.jsonl"

    @property
    def tensorboard(self) -> Path:
        """TensorBoard's files."""
        return self.path / "tensorboard"

    @property
    def best(self) -> Path:
        """The model with the best validation so far."""
        return self.path / "best"

    @property
    def last(self) -> Path:
        """The model after the last update."""
        return self.path / "last"

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
