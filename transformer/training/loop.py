"""A training run that can be stopped and resumed at any update without losing anything."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Literal, Protocol

import torch

from transformer.checkpoints.folder import open_saved, save_model
from transformer.data.batches import Batch
from transformer.loaded import LoadedModel
from transformer.training.choices import changed
from transformer.training.data import TrainingData
from transformer.training.evaluation.validation import ValidationScores, valid_digest
from transformer.training.finishing import drop_weights, save_weights
from transformer.training.folder import TrainingFolder
from transformer.training.metrics import LoggedUpdate, MetricsLog, read_updates
from transformer.training.optimization.trainer import NonFiniteError, Trainer, TrainingStep
from transformer.training.plan import TrainingPlan
from transformer.training.prepare import OTHER_PAIRS
from transformer.training.snapshots import FOLDER as SNAPSHOTS
from transformer.training.snapshots import save_snapshot, snapshot_steps
from transformer.training.state import Progress, StateError, load_state, save_state

Ending = Literal["steps", "patience", "stopped"]


@dataclass(frozen=True)
class Validated:
    """A validation during the run.

    Attributes:
        step: updates so far.
        scores: scores of the model.
        is_best: True if they are the best so far (`ValidationScores.merit`).
    """

    step: int
    scores: ValidationScores
    is_best: bool


class Stop(Protocol):
    """A way to request a stop."""

    @property
    def is_made(self) -> bool:
        """True once a stop was requested."""
        ...


class TrainingRun:
    """One training run: a context manager whose `events` run it.

    Every process of a run has one; only the first process validates and writes.

    Args:
        loaded: the model to train, with its coders.
        trainer: updates the model.
        data: the training data.
        plan: all options, with the number of steps filled in.
        folder: the folder for the run's files.
        validate: scores a model on the validation pairs; None for no validation.
        stop: checked before each update.

    Attributes:
        plan, data: the arguments.
        progress: progress of the run.
        ended: why the run ended; None before that.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        trainer: Trainer,
        data: TrainingData,
        plan: TrainingPlan,
        folder: TrainingFolder,
        *,
        validate: Callable[[LoadedModel], ValidationScores] | None,
        stop: Stop,
    ) -> None:
        self.progress = Progress(
            corpus=data.identity, plan=plan.to_dict(), valid=valid_digest(plan.checks.valid)
        )
        self.ended: Ending | None = None
        self.plan, self.data = plan, data
        self._loaded, self._trainer, self._folder = loaded, trainer, folder
        self._validate, self._stop = validate, stop
        self._ranks = trainer.ranks
        self._metrics: MetricsLog | None = None

    def __enter__(self) -> TrainingRun:
        """Open the metrics. Raises OSError, TensorBoardError."""
        if self._ranks.is_first:
            checks, progress = self.plan.checks, self.progress
            drop_weights(self._folder.path, last=checks.average, step=progress.step)
            board = self._folder.tensorboard if checks.tensorboard else None
            self._metrics = MetricsLog(
                self._folder.metrics, keep=progress.metrics_bytes, step=progress.step, tensorboard=board
            )
            if progress.step == 0:
                self.write({"data": dict(self.data.description)})
        return self

    def __exit__(self, *_: object) -> None:
        """Close the metrics."""
        if self._metrics is not None:
            self._metrics.close()

    def resume(self) -> None:
        """Load the last saved state.

        With new validation pairs, the best weights are scored again on these, and patience is reset.

        Raises:
            StateError: when there is no usable state, or it belongs to a run with other data.
            PlanError: when options differ that can't change.
            OSError: when a snapshot of the initial weights can't be written.
            CheckpointError: when the best weights must be scored again and can't be read.
        """
        if not (self._folder.out / SNAPSHOTS / "0").exists():
            self._keep_snapshot()  # the model still has the initial weights, determined by the seed
        saved = Progress.from_dict(load_state(self._folder.state, self._trainer))
        if saved.corpus not in ("", self.progress.corpus):
            raise StateError(OTHER_PAIRS)
        has_new_validation_pairs = saved.valid != self.progress.valid
        new = self.progress
        if saved.plan:
            made = changed(TrainingPlan.from_dict(saved.plan), self.plan)
            saved.changes += [
                f"after update {saved.step:,}: {name} {now}, before it {was}" for name, was, now in made
            ]
        self.progress = replace(saved, corpus=new.corpus, plan=new.plan, valid=new.valid)
        if has_new_validation_pairs:
            self._score_best_again()

    def _score_best_again(self) -> None:
        progress = self.progress
        progress.best, progress.validated, progress.n_worse = None, 0, 0
        is_kept = self._ranks.is_first and progress.best_step > 0 and self._folder.best.exists()
        if self._validate is not None and self._ranks.total(is_kept):
            device = self._loaded.model.generator.weight.device
            best = open_saved(str(self._folder.best), device) if is_kept else self._loaded
            progress.best = self._scores(best)

    def logged_updates(self) -> list[LoggedUpdate]:
        """Losses and learning rates up to the last update; only for the first process."""
        updates, progress = read_updates(self._folder.metrics), self.progress
        if not updates or updates[-1].step < progress.step:  # stopped between two lines of metrics
            loss = progress.line_loss / progress.line_updates if progress.line_updates else math.nan
            rate = self.plan.updates.rate(self._loaded.model.config.d_model)
            updates.append(LoggedUpdate(progress.step, loss, rate(progress.step)))
        return updates

    def events(self) -> Iterator[TrainingStep | Validated]:
        """Train until all steps are done, patience runs out, or a stop is requested.

        Raises:
            NonFiniteError: for a loss or gradient that is not finite; the last saved state is unchanged.
            OSError: when writing fails, for example on a full disk; the last saved state is unchanged.
        """
        batches = self._batches()
        steps = self.plan.updates.steps
        self._keep_snapshot()
        while True:
            if self._ranks.total(self._stop.is_made):  # a stop request to any process stops all
                self.save()
                self.ended = "stopped"
                return
            if self._is_validation_due():
                yield self._validated()
                self.save()
            if self._is_patience_over() or self.progress.step >= steps:
                self.ended = "patience" if self._is_patience_over() else "steps"
                return
            step = self._update(next(batches))
            self._keep_snapshot()
            yield step
            if step.step % self.plan.checks.save_every == 0 or step.step == steps:
                self.save(with_weights=True)

    def _batches(self) -> Iterator[list[Batch]]:
        """The process's own batches for each further update.

        An update uses consecutive batches of the epoch, sharded across the processes. The last update of an
        epoch may have fewer: a process without one gets a batch without labels.
        """
        ranks, data, progress = self._ranks, self.data, self.progress
        n_batches = self.plan.updates.accumulate * ranks.count
        while True:
            groups = data.epoch(progress.epoch)
            for start in range(progress.batch, len(groups), n_batches):
                shared = groups[start : start + n_batches]
                progress.batch = start + len(shared)
                own = [data.batch(group) for group in shared[ranks.rank :: ranks.count]]
                if len(own) < -(-len(shared) // ranks.count):
                    own.append(self._unlabelled(data.batch(shared[0])))
                yield own
            progress.epoch += 1
            progress.batch = 0

    def _unlabelled(self, batch: Batch) -> Batch:
        pad_id = self._loaded.model.config.pad_id
        return Batch(batch.src, batch.tgt, torch.full_like(batch.labels, pad_id))

    def _update(self, batches: list[Batch]) -> TrainingStep:
        started = time.perf_counter()
        try:
            step = self._trainer.update(batches)
        except NonFiniteError as error:
            place = f"epoch {self.progress.epoch}, up to batch {self.progress.batch}"
            raise NonFiniteError(f"update {self.progress.step + 1} ({place}): {error}") from error
        self.progress.count(step, time.perf_counter() - started)
        if step.step % self.plan.checks.log_every == 0 or step.step == self.plan.updates.steps:
            self.write(self.progress.take_line(step))
        return step

    def _keep_snapshot(self) -> None:
        count, step = self.plan.checks.snapshots, self.progress.step
        if count and self._ranks.is_first and step in snapshot_steps(self.plan.updates.steps, count)[:-1]:
            try:
                save_snapshot(self._folder.out, step, self._loaded.model)
            except ValueError as error:
                raise NonFiniteError(f"update {step}, whose weights can't be a snapshot: {error}") from error

    def _is_validation_due(self) -> bool:
        step, every = self.progress.step, self.plan.checks.validate_every
        is_due = step > 0 and (step % every == 0 or step == self.plan.updates.steps)
        return self._validate is not None and is_due and self.progress.validated != step

    def _is_patience_over(self) -> bool:
        patience = self.plan.checks.patience
        return patience > 0 and self.progress.n_worse >= patience

    def _validated(self) -> Validated:
        """Score the model, record the scores, and save the model if it is the best so far."""
        progress, scores = self.progress, self._scores(self._loaded)
        is_best = progress.best is None or scores.merit > progress.best.merit
        if is_best and self._ranks.is_first:
            save_model(self._folder.best, self._loaded)
        progress.validated = progress.step
        progress.n_worse = 0 if is_best else progress.n_worse + 1
        if is_best:
            progress.best, progress.best_step = scores, progress.step
        self.write(
            {"step": progress.step, "valid_loss": scores.loss, "bleu": scores.bleu, "chrf": scores.chrf}
        )
        return Validated(progress.step, scores, is_best)

    def _scores(self, loaded: LoadedModel) -> ValidationScores:
        """Validate in the first process, and return its scores in every process."""
        assert self._validate is not None
        own = self._validate(loaded) if self._ranks.is_first else ValidationScores(0.0, 0.0, 0.0)
        return ValidationScores(*map(self._ranks.total, (own.loss, own.bleu, own.chrf)))

    def write(self, line: dict[str, object]) -> None:
        """Add a line to the metrics."""
        if self._metrics is not None:
            self._metrics.write(line)

    def save(self, *, with_weights: bool = False) -> None:
        """Save the weights first, then the state that refers to them; then remove old weights.

        Raises:
            OSError: when writing fails; the previous state is unchanged.
        """
        step, last = self.progress.step, self.plan.checks.average
        if self._metrics is not None:
            self.progress.metrics_bytes = self._metrics.position()
            if with_weights and last:
                save_weights(self._folder.path, self._loaded.model, step)
        save_state(self._folder.state, self._trainer, asdict(self.progress))
        if self._metrics is not None:
            drop_weights(self._folder.path, last=last, step=step)
