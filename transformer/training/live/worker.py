"""The process of a live training run: `python -m transformer.training.live.worker FOLDER SECONDS`.

It trains, saves and shows its weights; the server tells it through standard input that somebody is still
there. When nothing comes for so many seconds it saves and ends; when the other end is closed, because the
server is gone, it clears its folder away and ends.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Protocol

import torch

from transformer.data.batches import Batch, batches
from transformer.errors import CheckpointError
from transformer.training.live.files import Ended, LiveFiles
from transformer.training.live.plan import BATCH_TOKENS, UNKNOWN, LivePlan
from transformer.training.live.signals import STOP
from transformer.training.memory import keep_freed_memory
from transformer.training.metrics import MetricsLog
from transformer.training.recipe import encode_pairs
from transformer.training.snapshots import snapshot_steps
from transformer.training.state import StateError, load_state, save_state
from transformer.training.task_evaluation import translations, word_vocabulary
from transformer.training.trainer import NonFiniteError, Trainer

NICENESS = 10
POOL = 600
"""Sentence pairs that are sorted into batches by length at a time."""
N_CHECKS, N_HELD_OUT, HELD_OUT_SEED = 20, 100, 2017
N_SNAPSHOTS = 10
SHOW_SECONDS = 1.0
SAVE_SECONDS = 10.0


class Audience(Protocol):
    """Those for whom a training runs."""

    @property
    def is_asked_to_stop(self) -> bool:
        """Whether the server said so."""
        ...

    @property
    def is_orphaned(self) -> bool:
        """Whether the server is gone."""
        ...

    @property
    def is_deserted(self) -> bool:
        """Whether nobody has been heard of for too long."""
        ...


class Listener:
    """Listens to the server, in a thread of its own.

    Args:
        silence: seconds after which nobody is thought to be there.

    Attributes:
        is_asked_to_stop: whether the server said so.
        is_orphaned: whether the server is gone.
    """

    def __init__(self, silence: float) -> None:
        self.is_asked_to_stop = self.is_orphaned = False
        self._silence = silence
        self._heard = time.monotonic()
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def is_deserted(self) -> bool:
        """Whether nothing has come for too long."""
        return time.monotonic() - self._heard > self._silence

    def _listen(self) -> None:
        while said := os.read(sys.stdin.fileno(), 4096):
            self._heard = time.monotonic()
            self.is_asked_to_stop |= STOP in said
        self.is_orphaned = True


class LiveRun:
    """The training itself, from wherever it stands.

    Args:
        plan: what is to be done.
        files: where it is kept.
        audience: asked before each update whether to go on.
    """

    def __init__(self, plan: LivePlan, files: LiveFiles, audience: Audience) -> None:
        generator = torch.Generator().manual_seed(plan.seed)
        self._plan, self._files, self._audience = plan, files, audience
        self._loaded = plan.new_model(generator)
        self._trainer = Trainer(self._loaded.model, rate=plan.rate(), smoothing=0.0)
        self._held_out = plan.rules.held_out(N_HELD_OUT, HELD_OUT_SEED)
        self._pool = self._batch = self._n_bytes = 0
        if files.state.exists():
            progress = load_state(files.state, self._trainer)
            self._pool, self._batch = progress["pool"], progress["batch"]
            self._n_bytes = progress["metrics_bytes"]

    def go_on(self) -> Ended:
        """Train until the steps are done or somebody stops it; everything is saved when it returns.

        Raises:
            NonFiniteError: when the loss or a gradient is no number any more.
            OSError: when something can't be written.
        """
        self._log = MetricsLog(self._files.metrics, keep=self._n_bytes)
        if self._n_bytes == 0:  # nothing was ever saved
            self._check()
            self._keep()
        self._show()
        self._save()
        shown = saved = self._updated = time.monotonic()
        for batch in self._batches():
            ending = self._ending()
            if ending is not None:
                break
            self._update(batch)
            now = time.monotonic()
            if now - shown > SHOW_SECONDS:
                self._show()
                shown = now
            if now - saved > SAVE_SECONDS:
                self._save()
                saved = now
        assert ending is not None
        self._show()
        self._save()
        return ending

    def _ending(self) -> Ended | None:
        if self._trainer.step >= self._plan.steps:
            return Ended("finished")
        if self._audience.is_orphaned or self._audience.is_asked_to_stop:
            return Ended("stopped")
        return Ended("deserted") if self._audience.is_deserted else None

    def _update(self, batch: Batch) -> None:
        step = self._trainer.update([batch])
        self._batch += 1
        now = time.monotonic()
        self._log.write(
            {
                "step": step.step,
                "loss": step.loss,
                "learning_rate": step.learning_rate,
                "tokens_per_second": step.n_tokens / (now - self._updated),
            }
        )
        self._updated = now
        if step.step % max(1, self._plan.steps // N_CHECKS) == 0 or step.step == self._plan.steps:
            self._check()
        if step.step in snapshot_steps(self._plan.steps, N_SNAPSHOTS):
            self._keep()

    def _batches(self) -> Iterator[Batch]:
        """Make new sentences without end, from where the training stands on; `_batch` counts those used."""
        source, target = map(word_vocabulary, (self._loaded.source, self._loaded.target))
        for pool in count(self._pool):
            seed = self._plan.seed * 100_003 + pool
            pairs = list(islice(self._plan.rules.pairs(seed, held_out=False), POOL))
            examples = encode_pairs(pairs, source, target, unknown=UNKNOWN, rng=Random(seed))
            generator = torch.Generator().manual_seed(seed)
            made = batches(examples, tokens=BATCH_TOKENS, generator=generator)
            yield from islice(made, self._batch, None)
            self._pool, self._batch = pool + 1, 0

    def _check(self) -> None:
        """Try the held-out sentences."""
        model = self._loaded.model.eval()
        right = sum(translation.exact for translation in translations(self._loaded, self._held_out))
        model.train()
        self._log.write({"step": self._trainer.step, "exact": right / N_HELD_OUT})

    def _show(self) -> None:
        self._files.write_weights(self._loaded.model, self._trainer.step)

    def _keep(self) -> None:
        self._files.keep_weights(self._loaded.model, self._trainer.step)

    def _save(self) -> None:
        progress = {"pool": self._pool, "batch": self._batch, "metrics_bytes": self._log.position()}
        save_state(self._files.state, self._trainer, progress)


def train(files: LiveFiles, audience: Audience) -> Ended:
    """Train as the plan in a folder says; what goes wrong is said in words."""
    try:
        return LiveRun(files.read_plan(), files, audience).go_on()
    except NonFiniteError as error:
        return Ended("failed", f"The training broke down: {error}. Start anew with a lower learning rate.")
    except (StateError, CheckpointError) as error:
        return Ended("failed", str(error))
    except OSError as error:
        return Ended("failed", f"The training can't be kept in {files.folder} ({error.strerror or error}).")


def work(folder: Path, silence: float) -> None:
    """Be the process of a training, and leave word of how it ended."""
    listener, files = Listener(silence), LiveFiles(folder)
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    torch.set_num_threads(1)
    keep_freed_memory()
    ended = train(files, listener)
    if listener.is_orphaned:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        files.write_ended(ended)


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]))
    os._exit(0)  # all is written: the interpreter's own end takes seconds on a busy machine
