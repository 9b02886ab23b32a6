"""What a live training and the server tell each other: files in a folder that is theirs alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from transformer.checkpoints.folder import LoadedModel, freeze
from transformer.model.transformer import Transformer
from transformer.training.averaging import set_weights, weights_of
from transformer.training.live.plan import LivePlan
from transformer.training.snapshots import History

Ending = Literal["finished", "stopped", "deserted", "failed"]

N_LATEST = 20
"""Updates whose speed is the speed now."""

_STEP = "step"
_KEPT = "kept-"


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        how: finished all steps, was asked to stop, heard nothing of the server for too long, or failed.
        message: for people; empty unless it failed.
    """

    how: Ending
    message: str = ""


@dataclass(frozen=True)
class Course:
    """What a training has done so far.

    Attributes:
        history: of the updates.
        checked_steps: after which held-out sentences were tried.
        exact: the share of them that came out right, for each of these steps.
        tokens_per_second: labels, on average over the latest updates; 0 before the first.
    """

    history: History = field(default_factory=History)
    checked_steps: tuple[int, ...] = ()
    exact: tuple[float, ...] = ()
    tokens_per_second: float = 0.0


@dataclass(frozen=True)
class LiveFiles:
    """The files of one training.

    Attributes:
        folder: theirs alone.
    """

    folder: Path

    @property
    def state(self) -> Path:
        """Everything that is needed to go on."""
        return self.folder / "state.safetensors"

    @property
    def metrics(self) -> Path:
        """A line of JSON for each update and each try on held-out sentences."""
        return self.folder / "metrics.jsonl"

    @property
    def _plan(self) -> Path:
        return self.folder / "plan.json"

    @property
    def _shown(self) -> Path:
        return self.folder / "shown.safetensors"

    def _kept(self, step: int) -> Path:
        return self.folder / f"{_KEPT}{step}.safetensors"

    @property
    def _ended(self) -> Path:
        return self.folder / "ended.json"

    def write_plan(self, plan: LivePlan) -> None:
        """Write the choices. Raises OSError."""
        _replace(self._plan, plan.to_dict())

    def read_plan(self) -> LivePlan:
        """Read the choices. Raises OSError, ValueError."""
        return LivePlan.from_dict(json.loads(self._plan.read_text(encoding="utf-8")))

    def write_weights(self, model: Transformer, step: int) -> None:
        """Show the weights of a step to whoever looks, whole or not at all. Raises OSError."""
        _save(self._shown, weights_of(model), step)

    def keep_weights(self, model: Transformer, step: int) -> None:
        """Keep the weights of a step, in half precision. Raises OSError."""
        halved = {name: weight.half() for name, weight in weights_of(model).items()}
        _save(self._kept(step), halved, step)

    def shown_at(self) -> int | None:
        """When weights were shown last, in nanoseconds; None before the first."""
        return self._shown.stat().st_mtime_ns if self._shown.exists() else None

    def shown_step(self) -> int | None:
        """The step of the weights that are shown; None before the first."""
        if not self._shown.exists():
            return None
        with safe_open(self._shown, framework="pt") as file:
            return int(file.metadata()[_STEP])

    def kept_steps(self) -> tuple[int, ...]:
        """The steps of which weights were kept, rising."""
        names = (path.stem.removeprefix(_KEPT) for path in self.folder.glob(f"{_KEPT}*.safetensors"))
        return tuple(sorted(map(int, names)))

    def read_weights(self, plan: LivePlan, step: int | None = None) -> tuple[int, LoadedModel]:
        """The weights that are shown, or those kept of a step, as a frozen model with its step.

        Raises:
            OSError: when there are none.
            CheckpointError: when the vocabularies can't be read.
        """
        loaded = plan.new_model()
        with safe_open(self._shown if step is None else self._kept(step), framework="pt") as file:
            found = int(file.metadata()[_STEP])
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        set_weights(loaded.model, weights)
        freeze(loaded.model)
        return found, loaded

    def write_ended(self, ended: Ended) -> None:
        """Leave word of how it ended. Raises OSError."""
        _replace(self._ended, vars(ended))

    def read_ended(self) -> Ended | None:
        """Read how the last process ended; None where it left no word."""
        try:
            return Ended(**json.loads(self._ended.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None

    def forget_ended(self) -> None:
        """Before a process begins."""
        self._ended.unlink(missing_ok=True)

    def read_course(self) -> Course:
        """What has been done so far; a line that is still being written is left for the next time."""
        try:
            text = self.metrics.read_text(encoding="utf-8")
        except FileNotFoundError:
            return Course()
        lines = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        updates = [line for line in lines if "loss" in line]
        checks = [line for line in lines if "exact" in line]
        return Course(
            History(*(tuple(u[name] for u in updates) for name in ("step", "loss", "learning_rate"))),
            tuple(check["step"] for check in checks),
            tuple(check["exact"] for check in checks),
            fmean([update["tokens_per_second"] for update in updates[-N_LATEST:]] or [0.0]),
        )


def _save(path: Path, weights: dict[str, Tensor], step: int) -> None:
    part = path.with_suffix(".part")
    try:
        save_file(weights, part, {_STEP: str(step)})
    except SafetensorError as error:
        raise OSError(None, str(error), str(path)) from error
    part.replace(path)


def _replace(path: Path, value: dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value), encoding="utf-8")
    part.replace(path)
