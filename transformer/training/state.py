"""The state of a training run in one safetensors file, written atomically."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from transformer.files import write_tensors
from transformer.training.evaluation.validation import ValidationScores
from transformer.training.optimization.trainer import Trainer, TrainingStep

_MODEL, _ADAM, _RANDOM = "model.", "adam.", "random."
_PROGRESS, _SCALER = "progress", "scaler"


class StateError(ValueError):
    """A run can't be resumed from its state."""


@dataclass
class Progress:
    """The part of a state that is not tensors. With both, a run resumes as if it had never stopped.

    Attributes:
        corpus: identity of the training data.
        plan: the options as plain values; empty in states of earlier versions.
        changes: messages on options changed on resuming.
        step: updates so far.
        epoch: current epoch, from 0.
        batch: batches of the epoch so far.
        tokens: labels so far.
        seconds: time spent on updates so far.
        metrics_bytes: length of the metrics file.
        valid: digest of the validation files; empty before the first update.
        validated: step of the last validation.
        best: scores of the best validation (see `ValidationScores.merit`); None before the first.
        best_step: step of the best validation.
        n_worse: number of validations since then.
        line_loss, line_updates, line_tokens, line_seconds: sums since the last line of metrics.
    """

    corpus: str = ""
    plan: dict[str, dict[str, Any]] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    step: int = 0
    epoch: int = 0
    batch: int = 0
    tokens: int = 0
    seconds: float = 0.0
    metrics_bytes: int = 0
    valid: str = ""
    validated: int = 0
    best: ValidationScores | None = None
    best_step: int = 0
    n_worse: int = 0
    line_loss: float = 0.0
    line_updates: int = 0
    line_tokens: int = 0
    line_seconds: float = 0.0

    def count(self, step: TrainingStep, seconds: float) -> None:
        """Count an update."""
        self.step = step.step
        self.tokens += step.n_tokens
        self.seconds += seconds
        self.line_tokens += step.n_tokens
        self.line_seconds += seconds
        if not step.skipped:
            self.line_loss += step.loss
            self.line_updates += 1

    def take_line(self, step: TrainingStep) -> dict[str, Any]:
        """The metrics of the updates since the last line; resets the sums."""
        line = {
            "step": step.step,
            "epoch": self.epoch,
            "loss": self.line_loss / self.line_updates if self.line_updates else None,
            "learning_rate": step.learning_rate,
            "gradient_norm": step.gradient_norm,
            "tokens_per_second": self.line_tokens / self.line_seconds,
            "tokens": self.tokens,
            "seconds": round(self.seconds, 3),
        }
        self.line_loss, self.line_updates, self.line_tokens, self.line_seconds = 0.0, 0, 0, 0.0
        return line

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Progress:
        """The inverse of `asdict`; missing fields have their defaults."""
        known = {one.name for one in fields(cls)}
        progress = cls(**{name: value for name, value in values.items() if name in known})
        progress.best = None if values.get("best") is None else ValidationScores(**values["best"])
        return progress


def save_state(path: Path, trainer: Trainer, progress: dict[str, Any]) -> None:
    """Save weights, optimizer, random generators and progress. Every process calls it; the first writes.

    Args:
        path: the file, in an existing folder.
        trainer: the trainer, between two updates.
        progress: the progress as plain values.

    Raises:
        OSError: when writing fails, for example on a full disk; an existing file is unchanged.
    """
    random = _random_states(trainer)
    if not trainer.ranks.is_first:
        return
    tensors: dict[str, Tensor] = {f"{_MODEL}{name}": w for name, w in trainer.model.named_parameters()}
    for name, parameter in trainer.model.named_parameters():
        for key, value in trainer.optimizer.state[parameter].items():
            tensors[f"{_ADAM}{name}.{key}"] = value
    metadata = {
        _PROGRESS: json.dumps(progress | {"step": trainer.step}),
        _SCALER: json.dumps(trainer.scaler.state_dict()),
    }
    write_tensors(path, tensors | random, metadata)


def load_state(path: Path, trainer: Trainer) -> dict[str, Any]:
    """Load a state into a trainer; returns the saved progress.

    Every process calls it; a process that was not part of the saved run keeps its own random state.

    Raises:
        StateError: when the file is missing, damaged or belongs to another model.
    """
    with _opened(path) as file:
        progress, scaler = _metadata(file)
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    parameters = dict(trainer.model.named_parameters())
    saved = {name.removeprefix(_MODEL): t.shape for name, t in tensors.items() if name.startswith(_MODEL)}
    if saved != {name: parameter.shape for name, parameter in parameters.items()}:
        raise StateError(
            f"{path} is of a model with other sizes: give the options that the run started with."
        )
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[f"{_MODEL}{name}"])
            prefix = f"{_ADAM}{name}."
            trainer.optimizer.state[parameter] = {
                full.removeprefix(prefix): tensor.to(parameter.device)
                for full, tensor in tensors.items()
                if full.startswith(prefix) and "." not in full.removeprefix(prefix)
            }
    trainer.step = progress["step"]
    if scaler and trainer.scaler.is_enabled():
        trainer.scaler.load_state_dict(scaler)
    _set_random_states(trainer, tensors)
    return progress


def saved_step(path: Path) -> int:
    """The number of updates before a state; raises StateError if it can't be read."""
    return int(saved_progress(path)["step"])


def saved_progress(path: Path) -> dict[str, Any]:
    """The progress in a state; raises StateError if it can't be read."""
    with _opened(path) as file:
        return _metadata(file)[0]


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except FileNotFoundError as error:
        raise StateError(f"There is no {path}: there is nothing to resume.") from error
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise StateError(f"{path} can't be read ({error}): restore the file, or restart.") from error


def _metadata(file: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The progress, and the state of the gradient scaler ({} if there was none)."""
    metadata = file.metadata()
    return json.loads(metadata[_PROGRESS]), json.loads(metadata.get(_SCALER, "{}"))


def _random_name(kind: str, rank: int) -> str:
    return f"{_RANDOM}{kind}-{rank}" if rank else f"{_RANDOM}{kind}"


def _random_states(trainer: Trainer) -> dict[str, Tensor]:
    """The states of all processes' random generators, for the CPU and the GPU if any."""
    own = {"cpu": torch.get_rng_state()}
    if trainer.device.type == "cuda":
        own["cuda"] = torch.cuda.get_rng_state(trainer.device)
    return {
        _random_name(kind, rank): state
        for kind, mine in own.items()
        for rank, state in enumerate(trainer.ranks.gather(mine))
    }


def _set_random_states(trainer: Trainer, tensors: dict[str, Tensor]) -> None:
    cpu, cuda = (_random_name(kind, trainer.ranks.rank) for kind in ("cpu", "cuda"))
    if cpu in tensors:
        torch.set_rng_state(tensors[cpu])
    if cuda in tensors and trainer.device.type == "cuda":
        torch.cuda.set_rng_state(tensors[cuda], trainer.device)
