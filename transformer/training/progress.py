"""Where a training over a corpus stands."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from transformer.training.trainer import TrainingStep
from transformer.training.validation import Scores


@dataclass
class Progress:
    """All that a state holds beside the tensors, so that a training goes on as if it had never stopped.

    Attributes:
        corpus: which corpus it learns.
        plan: the choices, as plain values; empty in the states of earlier versions.
        changes: which of them changed after which update, in words.
        step: updates so far.
        epoch: from 0.
        batch: batches of the epoch that are behind us.
        tokens: labels so far.
        seconds: spent on updates so far.
        metrics_bytes: length of the metrics file.
        valid: a digest of the files that it was validated on; empty before the first update.
        validated: the last step that was validated.
        best: scores of the best validation (see `Scores.merit`); None before the first.
        best_step: where that was.
        n_worse: validations since then.
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
    best: Scores | None = None
    best_step: int = 0
    n_worse: int = 0
    line_loss: float = 0.0
    line_updates: int = 0
    line_tokens: int = 0
    line_seconds: float = 0.0

    def count(self, step: TrainingStep, seconds: float) -> None:
        """Take note of an update."""
        self.step = step.step
        self.tokens += step.n_tokens
        self.seconds += seconds
        self.line_tokens += step.n_tokens
        self.line_seconds += seconds
        if not step.skipped:
            self.line_loss += step.loss
            self.line_updates += 1

    def take_line(self, step: TrainingStep) -> dict[str, Any]:
        """Make the line of metrics of the updates since the last one."""
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Progress:
        """The inverse of `to_dict`; what is missing is as at the beginning."""
        known = {one.name for one in fields(cls)}
        progress = cls(**{name: value for name, value in values.items() if name in known})
        progress.best = None if values.get("best") is None else Scores(**values["best"])
        return progress
