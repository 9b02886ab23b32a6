"""The folder through which a live training run and the server communicate."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Literal

from safetensors import safe_open

from transformer.data.tasks import TASKS
from transformer.files import write_json, write_tensors
from transformer.loaded import LoadedModel, freeze
from transformer.model.transformer import Transformer
from transformer.training.finishing import copy_weights, set_weights
from transformer.training.folder import TrainingFolder
from transformer.training.metrics import read_lines
from transformer.training.plan import TrainingPlan
from transformer.training.prepare import new_model, task_coders
from transformer.training.snapshots import History, load_snapshot

ALIVE, STOP = b".", b"s"
"""Messages from the server to the process: "a user is present" and "save and end"."""

CAN_NOT_WRITE = 74
"""Exit status of a process that could not even write how it ended."""

Ending = Literal["finished", "stopped", "deserted", "failed"]

N_LATEST = 20
"""Number of latest updates over which the speed is averaged."""

_STEP = "step"


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        how: finished all steps, stopped on request, deserted by the server for too long, or failed.
        message: the error; empty unless it failed.
    """

    how: Ending
    message: str = ""


@dataclass(frozen=True)
class LearningCurves:
    """The metrics of a live run so far.

    Attributes:
        history: loss and learning rate of the updates.
        checked_steps: steps at which held-out sentences were translated.
        exact: share of exact translations at each of these steps.
        tokens_per_second: labels per second, averaged over the latest updates; 0 before the first.
    """

    history: History = field(default_factory=History)
    checked_steps: tuple[int, ...] = ()
    exact: tuple[float, ...] = ()
    tokens_per_second: float = 0.0


class LiveFolder(TrainingFolder):
    """The folder of one live run."""

    def __init__(self, out: Path) -> None:
        super().__init__(out)
        self._shown = self.path / "shown.safetensors"
        self._ended = self.path / "ended.json"

    def begin(self, plan: TrainingPlan) -> None:
        """Create the folder and write the options. Raises OSError."""
        self.path.mkdir(parents=True)
        self.save_plan(plan)

    def show_weights(self, model: Transformer, step: int) -> None:
        """Publish a step's weights, atomically. Raises OSError."""
        write_tensors(self._shown, copy_weights(model), {_STEP: str(step)})

    def shown_at(self) -> int | None:
        """Time of the last published weights in nanoseconds; None before the first."""
        return self._shown.stat().st_mtime_ns if self._shown.exists() else None

    def shown_step(self) -> int | None:
        """Step of the published weights; None before the first."""
        if not self._shown.exists():
            return None
        with safe_open(self._shown, framework="pt") as file:
            return int(file.metadata()[_STEP])

    def read_weights(self, plan: TrainingPlan, step: int | None = None) -> tuple[int, LoadedModel]:
        """The step and frozen model of the published weights, or of a step's snapshot.

        Raises:
            OSError: when there are none.
            CheckpointError: when the vocabularies or weights can't be read.
        """
        assert plan.data.task is not None
        task = TASKS[plan.data.task]
        loaded = new_model(plan, task.name, task_coders(task))
        if step is not None:
            load_snapshot(self.out, step, loaded.model)
            return step, loaded
        with safe_open(self._shown, framework="pt") as file:
            found = int(file.metadata()[_STEP])
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        set_weights(loaded.model, weights)
        freeze(loaded.model)
        return found, loaded

    def write_ended(self, ended: Ended) -> None:
        """Record how the process ended. Raises OSError."""
        write_json(self._ended, vars(ended))

    def read_ended(self) -> Ended | None:
        """How the last process ended; None if it left no record."""
        try:
            return Ended(**json.loads(self._ended.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None

    def forget_ended(self) -> None:
        """Remove the record before a new process starts."""
        self._ended.unlink(missing_ok=True)

    def read_curves(self) -> LearningCurves:
        """The metrics so far, without a line still being written."""
        lines = read_lines(self.metrics)
        updates = [line for line in lines if "loss" in line]
        checks = [line for line in lines if "exact" in line]
        return LearningCurves(
            History(*(tuple(u[name] for u in updates) for name in ("step", "loss", "learning_rate"))),
            tuple(check["step"] for check in checks),
            tuple(check["exact"] for check in checks),
            fmean([update["tokens_per_second"] for update in updates[-N_LATEST:]] or [0.0]),
        )
