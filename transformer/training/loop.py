"""A training over a corpus, from wherever it stands to its end; stopped at any moment, it loses nothing."""

from __future__ import annotations

import hashlib
import json
import math
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import torch

from transformer.checkpoints.folder import LoadedModel, open_model, save_model
from transformer.data.batches import Batch
from transformer.data.encoded import EncodedCorpus, epoch_batches
from transformer.training.averaging import drop_weights, keep_weights
from transformer.training.folder import TrainingFolder
from transformer.training.metrics import LoggedUpdate, MetricsLog, read_updates
from transformer.training.plan import TrainingPlan
from transformer.training.plan_words import changed
from transformer.training.preparing import OTHER_PAIRS
from transformer.training.progress import Progress
from transformer.training.snapshots import FOLDER as SNAPSHOTS
from transformer.training.snapshots import save_snapshot, snapshot_steps
from transformer.training.state import StateError, load_state, save_state
from transformer.training.stopping import StopRequest
from transformer.training.trainer import NonFiniteError, Trainer, TrainingStep
from transformer.training.validation import Scores, valid_digest

Ending = Literal["steps", "patience", "stopped"]


@dataclass(frozen=True)
class Validated:
    """A validation on the way.

    Attributes:
        step: after which update.
        scores: of the model then.
        is_best: whether they are better than those of every validation before (`Scores.merit`).
    """

    step: int
    scores: Scores
    is_best: bool


class CorpusTraining:
    """One training over a corpus.

    Every process makes one; the first one validates and writes.

    Args:
        loaded: the model that is trained, with its coders.
        trainer: of that model.
        corpus: what it learns.
        plan: all choices.
        folder: where everything is kept.
        validate: scores a model on pairs that are not trained on; None never does.
        stop: asked after each update whether to stop.

    Attributes:
        plan, corpus: as given.
        progress: where it stands.
        ended: why `go_on` came to its end; None before.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        trainer: Trainer,
        corpus: EncodedCorpus,
        plan: TrainingPlan,
        folder: TrainingFolder,
        *,
        validate: Callable[[LoadedModel], Scores] | None,
        stop: StopRequest,
    ) -> None:
        self.progress = Progress(
            corpus=_identity(corpus), plan=plan.to_dict(), valid=valid_digest(plan.checks.valid)
        )
        self.ended: Ending | None = None
        self._loaded, self._trainer, self.corpus = loaded, trainer, corpus
        self.plan, self._folder = plan, folder
        self._validate, self._stop = validate, stop
        self._ranks = trainer.ranks
        self._metrics: MetricsLog | None = None

    def resume(self) -> None:
        """Go back to the last saved state.

        Scores on other validation pairs can't be compared: the best weights are scored on the new ones, and
        patience begins anew.

        Raises:
            StateError: when there is none that can be used, or it is of a training with another corpus.
            PlanError: when it is of one with choices that can't change.
            OSError: when a snapshot of the first weights is wanted and can't be written.
            CheckpointError: when the best weights have to be scored anew and can't be read.
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
            self._score_best_anew()

    def _score_best_anew(self) -> None:
        progress = self.progress
        progress.best, progress.validated, progress.n_worse = None, 0, 0
        is_kept = self._ranks.is_first and progress.best_step > 0 and self._folder.best.exists()
        if self._validate is not None and self._ranks.total(is_kept):
            device = self._loaded.model.generator.weight.device
            best = open_model(str(self._folder.best), device) if is_kept else self._loaded
            progress.best = self._scores(best)

    def course(self) -> list[LoggedUpdate]:
        """The losses and learning rates up to now, the last update among them; for the first process."""
        updates, progress = read_updates(self._folder.metrics), self.progress
        if not updates or updates[-1].step < progress.step:  # it stopped early, between two lines of metrics
            loss = progress.line_loss / progress.line_updates if progress.line_updates else math.nan
            rate = self.plan.updates.rate(self._loaded.model.config.d_model)
            updates.append(LoggedUpdate(progress.step, loss, rate(progress.step)))
        return updates

    def go_on(self) -> Iterator[TrainingStep | Validated]:
        """Make one update after the other until the steps are done, patience is over, or somebody stops it.

        Raises:
            NonFiniteError: when an update can't be made; the last saved state is as it was.
            OSError: when something can't be written, for a full disk say; as before.
        """
        if self._ranks.is_first:
            self._open()
        try:
            yield from self._events()
        finally:
            if self._metrics is not None:
                self._metrics.close()

    def _open(self) -> None:
        checks, progress = self.plan.checks, self.progress
        drop_weights(self._folder.path, last=checks.average, step=progress.step)
        board = self._folder.tensorboard if checks.tensorboard else None
        self._metrics = MetricsLog(
            self._folder.metrics, keep=progress.metrics_bytes, step=progress.step, tensorboard=board
        )
        if progress.step == 0:
            self._write({"data": self.corpus.description})

    def _events(self) -> Iterator[TrainingStep | Validated]:
        batches = self._batches()
        steps = self.plan.updates.steps
        self._keep_snapshot()
        while True:
            if self._is_validation_due():
                yield self._validated()
                self._save()
            if self._is_patience_over() or self.progress.step >= steps:
                self.ended = "patience" if self._is_patience_over() else "steps"
                return
            step = self._update(next(batches))
            self._keep_snapshot()
            yield step
            is_stopped = self._is_asked_to_stop()
            if step.step % self.plan.checks.save_every == 0 or step.step == steps:
                self._save(with_weights=True)
            elif is_stopped:
                self._save()
            if is_stopped:
                self.ended = "stopped"
                return

    def _is_asked_to_stop(self) -> bool:
        """Whether any process was asked to; then all of them are."""
        if self._ranks.total(self._stop.signal) > 0:
            self._stop.signal = self._stop.signal or signal.SIGTERM
        return self._stop.signal > 0

    def _batches(self) -> Iterator[list[Batch]]:
        """Make the batches of this process for one update after the other, from where the training stands on.

        The batches of an update are neighbours in the epoch's order, dealt out among the processes. At the
        end of an epoch there may be fewer: a process that gets none repeats one without its labels.
        """
        updates, ranks = self.plan.updates, self._ranks
        n_batches = updates.accumulate * ranks.count
        while True:
            groups = epoch_batches(
                self.corpus, tokens=updates.batch_tokens, seed=updates.seed, epoch=self.progress.epoch
            )
            for start in range(self.progress.batch, len(groups), n_batches):
                dealt = groups[start : start + n_batches]
                self.progress.batch = start + len(dealt)
                own = [self.corpus.batch(group) for group in dealt[ranks.rank :: ranks.count]]
                if len(own) < -(-len(dealt) // ranks.count):
                    own.append(self._unlabelled(self.corpus.batch(dealt[0])))
                yield own
            self.progress.epoch += 1
            self.progress.batch = 0

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
            self._write(self.progress.take_line(step))
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
        self._write(
            {"step": progress.step, "valid_loss": scores.loss, "bleu": scores.bleu, "chrf": scores.chrf}
        )
        return Validated(progress.step, scores, is_best)

    def _scores(self, loaded: LoadedModel) -> Scores:
        """Those of the first process's model; each process learns them."""
        assert self._validate is not None
        own = self._validate(loaded) if self._ranks.is_first else Scores(0.0, 0.0, 0.0)
        return Scores(*map(self._ranks.total, (own.loss, own.bleu, own.chrf)))

    def _write(self, line: dict[str, object]) -> None:
        if self._metrics is not None:
            self._metrics.write(line)

    def _save(self, *, with_weights: bool = False) -> None:
        """Weights first, then the state that knows of them, then away with what is too old."""
        step, last = self.progress.step, self.plan.checks.average
        if self._metrics is not None:
            self.progress.metrics_bytes = self._metrics.position()
            if with_weights and last:
                keep_weights(self._folder.path, self._loaded.model, step)
        save_state(self._folder.state, self._trainer, self.progress.to_dict())
        if self._metrics is not None:
            drop_weights(self._folder.path, last=last, step=step)


def _identity(corpus: EncodedCorpus) -> str:
    """A name of a corpus and of all that was done with it."""
    text = json.dumps(corpus.description.get("fingerprint"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
