"""The process of a live training run: `python -m transformer.training.live.worker FOLDER SECONDS`.

It trains, saves and publishes its weights. The server reports on standard input that a user is still present:
after SECONDS without a message the process saves and ends. When standard input is closed, because the server
is gone, it removes its folder and ends.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import torch

from transformer.data.tasks import TASKS, SentencePair
from transformer.errors import CheckpointError
from transformer.loaded import LoadedModel
from transformer.training.evaluation.tasks import translations
from transformer.training.live.folder import CAN_NOT_WRITE, STOP, Ended, LiveFolder
from transformer.training.loop import Stop, TrainingRun
from transformer.training.optimization.trainer import NonFiniteError
from transformer.training.plan import PlanError, TrainingPlan
from transformer.training.prepare import first_model, new_trainer, open_prepared
from transformer.training.process import keep_freed_memory
from transformer.training.snapshots import save_snapshot
from transformer.training.state import StateError

NICENESS = 10
N_CHECKS, N_HELD_OUT, HELD_OUT_SEED = 20, 100, 2017
SHOW_SECONDS = 1.0
SAVE_SECONDS = 10.0


class Audience(Stop, Protocol):
    """A source of stop requests that knows whether a user is present."""

    @property
    def is_deserted(self) -> bool:
        """True if the run stops because no user was present for too long."""
        ...


class Listener:
    """Reads the server's messages in a thread.

    Args:
        silence: seconds without a message after which the run is deserted.

    Attributes:
        is_orphaned: True once the server is gone.
    """

    def __init__(self, silence: float) -> None:
        self.is_orphaned = False
        self._stop_requested = False
        self._silence = silence
        self._last_message = time.monotonic()
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def is_made(self) -> bool:
        """True if the server requested a stop, is gone, or was silent for too long."""
        return self._stop_requested or self.is_orphaned or self.is_deserted

    @property
    def is_deserted(self) -> bool:
        """True if the server was silent for too long without requesting a stop."""
        if self._stop_requested or self.is_orphaned:
            return False
        return time.monotonic() - self._last_message > self._silence

    def _listen(self) -> None:
        while message := os.read(sys.stdin.fileno(), 4096):
            self._last_message = time.monotonic()
            self._stop_requested |= STOP in message
        self.is_orphaned = True


def train(folder: LiveFolder, audience: Audience) -> Ended:
    """Train according to the folder's plan; errors become messages."""
    try:
        return _train(folder, folder.saved_plan(), audience)
    except NonFiniteError as error:
        return Ended("failed", f"Training failed in {error}. Restart it with a lower learning rate.")
    except (StateError, PlanError, CheckpointError) as error:
        return Ended("failed", str(error))
    except OSError as error:
        return Ended("failed", f"The run can't be saved in {folder.path} ({error.strerror or error}).")


def _train(folder: LiveFolder, plan: TrainingPlan, audience: Audience) -> Ended:
    prepared = open_prepared(folder, plan)
    assert plan.data.task is not None
    held_out = TASKS[plan.data.task].held_out(N_HELD_OUT, HELD_OUT_SEED)
    loaded = first_model(plan, plan.data.task, prepared, torch.device("cpu"))
    trainer = new_trainer(plan.updates, loaded)
    run = TrainingRun(loaded, trainer, prepared.data, plan, folder, validate=None, stop=audience)
    if folder.state.exists():
        run.resume()
    with run:
        if not folder.state.exists():
            run.write({"step": 0, "exact": exact_share(loaded, held_out)})
        folder.show_weights(loaded.model, run.progress.step)
        run.save()
        shown = saved = time.monotonic()
        for event in run.events():
            now = time.monotonic()
            if event.step % max(1, plan.updates.steps // N_CHECKS) == 0 or event.step == plan.updates.steps:
                run.write({"step": event.step, "exact": exact_share(loaded, held_out)})
            if now - shown > SHOW_SECONDS:
                folder.show_weights(loaded.model, event.step)
                shown = now
            if now - saved > SAVE_SECONDS:
                run.save()
                saved = now
    folder.show_weights(loaded.model, run.progress.step)
    if run.ended == "steps":
        save_snapshot(folder.out, run.progress.step, loaded.model)
        return Ended("finished")
    return Ended("deserted" if audience.is_deserted else "stopped")


def exact_share(loaded: LoadedModel, pairs: Sequence[SentencePair]) -> float:
    """Share of held-out pairs that a model in training translates exactly."""
    loaded.model.eval()
    right = sum(translation.exact for translation in translations(loaded, pairs))
    loaded.model.train()
    return right / len(pairs)


def work(folder: Path, silence: float) -> None:
    """Execute a live run and record how it ended."""
    listener, live_folder = Listener(silence), LiveFolder(folder)
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    torch.set_num_threads(1)
    keep_freed_memory()
    ended = train(live_folder, listener)
    if listener.is_orphaned:
        shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        live_folder.write_ended(ended)
    except OSError:  # the exit status says it instead
        os._exit(CAN_NOT_WRITE)


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]))
    os._exit(0)  # everything is saved, and a normal exit takes seconds on a busy machine
