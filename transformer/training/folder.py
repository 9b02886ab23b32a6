"""Where a training keeps its things: beside the model that it makes, in a folder of their own."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from transformer.snapshots import FOLDER as SNAPSHOTS
from transformer.training.files import write_json
from transformer.training.plan import PlanError, TrainingPlan


@dataclass(frozen=True)
class TrainingFolder:
    """The files of one training.

    Attributes:
        out: the folder that will hold the finished model.
    """

    out: Path

    @property
    def path(self) -> Path:
        """The training's own folder: not needed any more when the model is finished."""
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
        """Everything that is needed to go on."""
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

    def clear(self) -> None:
        """Remove what an earlier training left, but for its encoded corpus, which may be of use again."""
        self.state.unlink(missing_ok=True)
        for folder in (self.best, self.last, self.tensorboard, self.out / SNAPSHOTS):
            shutil.rmtree(folder, ignore_errors=True)

    def save_plan(self, plan: TrainingPlan) -> None:
        """Write the choices. Raises OSError."""
        write_json(self.plan, plan.to_dict())

    def saved_plan(self) -> TrainingPlan:
        """Read the choices of the training that was begun here.

        Raises:
            PlanError: when none was, or its choices can't be read.
        """
        try:
            return TrainingPlan.from_dict(json.loads(self.plan.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise PlanError(
                f"No training was begun in {self.out}: name its folder with --out, or leave --resume out."
            ) from error
        except (OSError, ValueError) as error:
            raise PlanError(f"{self.plan} can't be read ({error}): train anew in another folder.") from error
