"""A training run, from wherever it stands to its end; stopped at any moment, it loses nothing."""

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
from transformer.training.finishing import drop_weights, keep_weights
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
    """A validation on the way.

    Attributes:
        step: after which update.
        scores: of the model then.
        is_best: whether they are better than those of every validation before (`ValidationScores.merit`).
    """

    step: int
    scores: ValidationScores
    is_best: bool


class Stop(Protocol):
    """Somebody who may ask a run to stop."""

    @property
    def is_made(self) -> bool:
        """Whether it was asked."""
        ...


class TrainingRun:
    """One training run: open it, then go through its events.

    Every process of a run makes one; the first one validates and writes.

    Args:
        loaded: the model that is trained, with its coders.
        plan: all choices, with the number of steps.
        validate: scores a model on pairs that are not trained on; None never does.
        stop: asked before each update whether to stop.

    Attributes:
        plan, data: as given.
        progress: where it stands.
        ended: why there are no more events; None before.
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
        """Open what is written to while it runs. Raises OSError, TensorBoardError."""
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
        """Close it."""
        if self._metrics is not None:
            self._metrics.close()

    def resume(self) -> None:
        """Go back to the last saved state.

        Scores on other validation pairs can't be compared: the best weights are scored on the new ones, and
        patience begins to count again.

        Raises:
            StateError: when there is none that can be used, or it is of a run with other data.
            PlanError: when it is of one with choices that can't change.
            OSError: when a snapshot of the first weights is wanted and can't be written.
            CheckpointError: when the best weights have to be scored again and can't be read.
        """
        if not (self._folder.out / SNAPSHOTS / "0").exists():
            self._keep_snapshot()  # the model still has the first weights, which its seed has made again
        saved = Progress.from_dict(load_state(self._folder.state, self._trainer))
        if saved.corpus not in ("", self.progress.corpus):
            raise StateError(OTHER_PAIRS)
        is_validated_otherwise = saved.valid != self.progress.valid
        new = self.progress
        if saved.plan:
            made = changed(TrainingPlan.from_dict(saved.plan), self.plan)
            saved.changes += [
                f"after update {saved.step:,}: {name} {now}, before it {was}" for name, was, now in made
            ]
        self.progress = replace(saved, corpus=new.corpus, plan=new.plan, valid=new.valid)
        if is_validated_otherwise:
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
        """The losses and learning rates up to now, the last update among them; for the first process."""
        updates, progress = read_updates(self._folder.metrics), self.progress
        if not updates or updates[-1].step < progress.step:  # it stopped early, between two lines of metrics
            loss = progress.line_loss / progress.line_updates if progress.line_updates else math.nan
            rate = self.plan.updates.rate(self._loaded.model.config.d_model)
            updates.append(LoggedUpdate(progress.step, loss, rate(progress.step)))
        return updates

    def events(self) -> Iterator[TrainingStep | Validated]:
        """Make one update after the other until the steps are done, patience is over, or somebody stops it.

        Raises:
            NonFiniteError: when an update can't be made; the last saved state is as it was.
            OSError: when something can't be written, for a full disk say; as before.
        """
        batches = self._batches()
        steps = self.plan.updates.steps
        self._keep_snapshot()
        while True:
            if self._ranks.total(self._stop.is_made):  # asked of any process, all of them stop
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
        """Make the batches of this process for one update after the other, from where the run stands.

        The batches of an update are neighbours in the epoch's order, sharded across the processes. At the
        end of an epoch there may be fewer: a process that gets none repeats one without its labels.
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
        """Score the model, take note of that, and keep the model if it is the best."""
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
        """Those of the first process's model; each process learns them."""
        assert self._validate is not None
        own = self._validate(loaded) if self._ranks.is_first else ValidationScores(0.0, 0.0, 0.0)
        return ValidationScores(*map(self._ranks.total, (own.loss, own.bleu, own.chrf)))

    def write(self, line: dict[str, object]) -> None:
        """Add a line to the metrics."""
        if self._metrics is not None:
            self._metrics.write(line)

    def save(self, *, with_weights: bool = False) -> None:
        """Save everything: weights first, then the state that knows of them; then drop what is too old.

        Raises:
            OSError: when it can't be written; the state that was there is as it was.
        """
        step, last = self.progress.step, self.plan.checks.average
        if self._metrics is not None:
            self.progress.metrics_bytes = self._metrics.position()
            if with_weights and last:
                keep_weights(self._folder.path, self._loaded.model, step)
        save_state(self._folder.state, self._trainer, asdict(self.progress))
        if self._metrics is not None:
            drop_weights(self._folder.path, last=last, step=step)
