"""Server-side control of live training runs: start, stop, resume, read, and limit their number."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from transformer.files import CODE
from transformer.loaded import LoadedModel
from transformer.training.live.folder import ALIVE, CAN_NOT_WRITE, STOP, Ended, LearningCurves, LiveFolder
from transformer.training.plan import TaskName, TrainingPlan
from transformer.training.snapshots import saved_snapshots

Status = Literal["starting", "running", "stopping", "stopped", "deserted", "finished", "failed"]
ACTIVE: tuple[Status, ...] = ("starting", "running", "stopping")
"""Statuses of a run that has a process."""

SILENCE_SECONDS = 90.0
"""A run stops after this time without a request. Browsers wake hidden pages only once a minute."""
_WORKER = "transformer.training.live.worker"


class FullError(RuntimeError):
    """The maximum number of live runs is already active."""


class TrainingSlots:
    """The limit on simultaneous live runs.

    Args:
        count: most simultaneous runs, at least 1.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = threading.BoundedSemaphore(count)

    def take(self) -> None:
        """Take a slot; raises FullError if none is free."""
        if not self._free.acquire(blocking=False):
            others = "one training run is" if self.count == 1 else f"{self.count} training runs are"
            raise FullError(
                f"{others.capitalize()} active on this machine, its maximum. Try again in a few minutes, "
                "when one is over."
            )

    def give_back(self) -> None:
        """Release a slot."""
        self._free.release()


class LiveTraining:
    """One live run; its temporary folder is removed when the run is closed or garbage-collected.

    Args:
        plan: the run's plan.
        slots: a slot is taken while the process runs.
        silence: seconds without `keep_alive` after which the process saves and ends.

    Raises:
        OSError: when its folder can't be created.
    """

    def __init__(self, plan: TrainingPlan, slots: TrainingSlots, *, silence: float = SILENCE_SECONDS) -> None:
        self.plan = plan
        self._slots, self._silence = slots, silence
        self._temporary = TemporaryDirectory(prefix="headlight-training-", ignore_cleanup_errors=True)
        self.folder = LiveFolder(Path(self._temporary.name))
        self.folder.begin(plan)
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._reaper: threading.Thread | None = None
        self._is_stopping = False
        self._shown_before: int | None = None
        self._models: dict[int, LoadedModel] = {}

    def start(self) -> None:
        """Start or resume the run; does nothing while it is active.

        Raises:
            FullError: when all slots are taken.
            OSError: when no process can be started.
        """
        with self._lock:
            if self.is_active:
                return
            self.settle()
            self._slots.take()
            try:
                self.folder.forget_ended()
                self._shown_before = self.folder.shown_at()
                self._is_stopping = False
                self._process = self._spawn()
            except BaseException:
                self._slots.give_back()
                raise
            self._reaper = threading.Thread(target=self._reap, args=(self._process,), daemon=True)
            self._reaper.start()

    def stop(self) -> None:
        """Ask the process to save and end after the current update."""
        with self._lock:
            self._is_stopping = True
            self._say(STOP)

    def keep_alive(self) -> None:
        """Tell the process that a user is present."""
        with self._lock:
            self._say(ALIVE)

    def close(self) -> None:
        """Kill the process and remove the folder."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
            self.settle()
            self._temporary.cleanup()

    def settle(self) -> None:
        """Wait until an ended process has released its slot."""
        if self._reaper is not None:
            self._reaper.join()

    @property
    def task(self) -> TaskName:
        """The built-in task of the run."""
        assert self.plan.data.task is not None
        return self.plan.data.task

    @property
    def n_steps(self) -> int:
        """Number of planned updates."""
        return self.plan.updates.steps

    @property
    def process_id(self) -> int | None:
        """Process id of the latest process; None before the first."""
        return None if self._process is None else self._process.pid

    @property
    def is_active(self) -> bool:
        """True if the status is in `ACTIVE`."""
        return self.status in ACTIVE

    @property
    def status(self) -> Status:
        """The current status, or how the run ended."""
        with self._lock:
            ended = self._ended()
            if ended is not None:
                return ended.how
            if self._is_stopping:
                return "stopping"
            return "starting" if self.folder.shown_at() == self._shown_before else "running"

    @property
    def message(self) -> str:
        """The error message; empty if there is none."""
        with self._lock:
            ended = self._ended()
            return "" if ended is None else ended.message

    def curves(self) -> LearningCurves:
        """The metrics so far."""
        return self.folder.read_curves()

    def model(self, step: int | None = None) -> tuple[int, LoadedModel] | None:
        """The step and model: the latest, or at one of `moments`; None before the first.

        Raises:
            OSError: for a step without a snapshot.
            CheckpointError: when the shipped vocabularies can't be read.
        """
        with self._lock:
            shown = self.folder.shown_step() if step is None else step
            if shown is None:
                return None
            if shown not in self._models:
                shown, loaded = self.folder.read_weights(self.plan, step)
                kept = self.moments()
                self._models = {old: model for old, model in self._models.items() if old in kept}
                self._models[shown] = loaded
            return shown, self._models[shown]

    def moments(self) -> tuple[int, ...]:
        """The steps with a snapshot, ascending."""
        return saved_snapshots(self.folder.out)

    def _ended(self) -> Ended | None:
        """How the run ended, from the process's record or its exit status; None while it runs."""
        if self._process is None:
            return Ended("stopped")
        status = self._process.poll()  # before the record is read: it may be written in between
        record = self.folder.read_ended()
        return record if record or status is None else Ended("failed", _crash(status))

    def _say(self, what: bytes) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(what)
        except (OSError, ValueError):  # the process has just ended: the pipe is broken or closed
            return

    def _spawn(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", _WORKER, self._temporary.name, str(self._silence)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            bufsize=0,
            cwd=CODE,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        assert process.stdin is not None
        if hasattr(os, "set_blocking"):  # not on Windows, where a full pipe blocks
            os.set_blocking(process.stdin.fileno(), False)
        return process

    def _reap(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for a process to end, so that it does not become a zombie and its slot is released."""
        process.wait()
        self._slots.give_back()
        assert process.stdin is not None
        process.stdin.close()


class UserTraining:
    """The live runs of one user, one at a time.

    Args:
        slots: shared by all users.

    Attributes:
        training: the latest run; None before the first.
    """

    def __init__(self, slots: TrainingSlots) -> None:
        self.training: LiveTraining | None = None
        self._slots = slots

    def begin(self, plan: TrainingPlan) -> None:
        """Start a run that replaces the previous one.

        Raises:
            FullError: when all slots are taken; a previous run that has ended is then kept.
            OSError: when no process can be started, or the folder can't be created.
        """
        if self.training is not None:
            if self.training.is_active:
                self.close()
            else:
                self.training.settle()
        training = LiveTraining(plan, self._slots)
        try:
            training.start()
        except BaseException:
            training.close()
            raise
        self.close()
        self.training = training

    def close(self) -> None:
        """Kill the run and remove it."""
        if self.training is not None:
            self.training.close()
            self.training = None


def _crash(status: int) -> str:
    if status < 0:
        return (
            f"The system killed the process of the run (signal {-status}), perhaps for lack of memory. "
            "Resume it from the last saved state, or start a smaller one."
        )
    if status == CAN_NOT_WRITE:
        return (
            "Nothing could be written any more, as on a full disk. Free some space, and resume from the last "
            "saved state, or restart."
        )
    return (
        f"The process of the run ended unexpectedly (exit status {status}): see the server's terminal. "
        "Resume it from the last saved state, or restart it."
    )
