"""A live training as the server sees it: begin, stop, go on, look; and how many there may be at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from transformer.checkpoints.folder import LoadedModel
from transformer.training.live.files import Course, Ended, LiveFiles
from transformer.training.live.plan import LivePlan
from transformer.training.live.signals import ALIVE, STOP

Status = Literal["starting", "running", "stopping", "stopped", "deserted", "finished", "failed"]
ACTIVE: tuple[Status, ...] = ("starting", "running", "stopping")
"""When it trains, or is about to, or is about to end."""

SILENCE_SECONDS = 90.0
"""A training of which nobody has asked for so long stops. Browsers wake hidden pages once a minute."""
_WORKER = "transformer.training.live.worker"
_ROOT = Path(__file__).resolve().parents[3]


class FullError(RuntimeError):
    """As many trainings run as there may be; the message is for people."""


class Places:
    """How many trainings may run at a time on this machine.

    Args:
        count: at least 1.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = threading.BoundedSemaphore(count)

    def take(self) -> None:
        """Take a place. Raises FullError when all are taken."""
        if not self._free.acquire(blocking=False):
            others = "one training runs" if self.count == 1 else f"{self.count} trainings run"
            raise FullError(
                f"At the moment {others} on this machine already, as many as it takes at a time. Each is "
                "over in a few minutes: try again then."
            )

    def give_back(self) -> None:
        """Give a place back."""
        self._free.release()


class LiveTraining:
    """One training, with a folder of its own that is gone when the training is closed or forgotten.

    Args:
        plan: what is to be done.
        places: where a place is taken while a process runs.
        silence: seconds without `keep_alive` after which the process saves and ends.

    Attributes:
        plan: as given.

    Raises:
        OSError: when its folder can't be made.
    """

    def __init__(self, plan: LivePlan, places: Places, *, silence: float = SILENCE_SECONDS) -> None:
        self.plan = plan
        self._places, self._silence = places, silence
        self._folder = TemporaryDirectory(prefix="headlight-training-", ignore_cleanup_errors=True)
        self.files = LiveFiles(Path(self._folder.name))
        self.files.write_plan(plan)
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._undertaker: threading.Thread | None = None
        self._is_stopping = False
        self._shown_before: int | None = None
        self._models: dict[int, LoadedModel] = {}

    def start(self) -> None:
        """Begin, or go on where it was; nothing happens while it trains.

        Raises:
            FullError: when no more trainings may run.
            OSError: when no process can be started.
        """
        with self._lock:
            if self.is_active:
                return
            self.settle()
            self._places.take()
            try:
                self.files.forget_ended()
                self._shown_before = self.files.shown_at()
                self._is_stopping = False
                self._process = self._spawn()
            except BaseException:
                self._places.give_back()
                raise
            self._undertaker = threading.Thread(target=self._bury, args=(self._process,), daemon=True)
            self._undertaker.start()

    def stop(self) -> None:
        """Ask it to save and end; it does so after the update that it is at."""
        with self._lock:
            self._is_stopping = True
            self._say(STOP)

    def keep_alive(self) -> None:
        """Tell it that somebody is there."""
        with self._lock:
            self._say(ALIVE)

    def close(self) -> None:
        """End it at once and remove everything that it kept."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
            self.settle()
            self._folder.cleanup()

    def settle(self) -> None:
        """Wait until a process that has ended is gone and its place is free."""
        if self._undertaker is not None:
            self._undertaker.join()

    @property
    def process_id(self) -> int | None:
        """Of the latest process; None before the first."""
        return None if self._process is None else self._process.pid

    @property
    def is_active(self) -> bool:
        """Whether its status is one of `ACTIVE`."""
        return self.status in ACTIVE

    @property
    def status(self) -> Status:
        """What it does now, or how it ended."""
        with self._lock:
            ended = self._ended()
            if ended is not None:
                return ended.how
            if self._is_stopping:
                return "stopping"
            return "starting" if self.files.shown_at() == self._shown_before else "running"

    @property
    def message(self) -> str:
        """What went wrong, for people; empty when nothing did."""
        with self._lock:
            ended = self._ended()
            return "" if ended is None else ended.message

    def course(self) -> Course:
        """What has been done so far."""
        return self.files.read_course()

    def model(self, step: int | None = None) -> tuple[int, LoadedModel] | None:
        """The model as it is now, or was at one of `moments`, with its step; None before there is one.

        Raises:
            OSError: for a step that was not kept.
            CheckpointError: when the shipped vocabularies can't be read.
        """
        with self._lock:
            shown = self.files.shown_step() if step is None else step
            if shown is None:
                return None
            if shown not in self._models:
                shown, loaded = self.files.read_weights(self.plan, step)
                kept = self.moments()
                self._models = {old: model for old, model in self._models.items() if old in kept}
                self._models[shown] = loaded
            return shown, self._models[shown]

    def moments(self) -> tuple[int, ...]:
        """The steps of which the model was kept, rising."""
        return self.files.kept_steps()

    def _ended(self) -> Ended | None:
        """How it ended: what the process left word of, or what its system says of it; None while it runs."""
        if self._process is None:
            return Ended("stopped")
        status = self._process.poll()  # before the word is looked for: it may be left in between
        word = self.files.read_ended()
        return word if word or status is None else Ended("failed", _crash(status))

    def _say(self, what: bytes) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(what)
        except (OSError, ValueError):  # it ends at this moment: the pipe is broken, or closed already
            return

    def _spawn(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", _WORKER, self._folder.name, str(self._silence)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            bufsize=0,
            cwd=_ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        return process

    def _bury(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for the end of a process, so that it leaves no zombie and its place is free."""
        process.wait()
        self._places.give_back()
        assert process.stdin is not None
        process.stdin.close()


class Desk:
    """Where one person's training is: one at a time.

    Args:
        places: that all people share.

    Attributes:
        training: the latest; None before the first.
    """

    def __init__(self, places: Places) -> None:
        self.training: LiveTraining | None = None
        self._places = places

    def begin(self, plan: LivePlan) -> None:
        """Begin a training in the place of the one before, whose things are removed.

        Raises:
            FullError: when no more trainings may run; the one before is kept.
            OSError: when no process can be started, or it can't have a folder.
        """
        if self.training is not None:
            if self.training.is_active:
                self.close()
            else:
                self.training.settle()
        training = LiveTraining(plan, self._places)
        try:
            training.start()
        except BaseException:
            training.close()
            raise
        self.close()
        self.training = training

    def close(self) -> None:
        """End the training and remove it."""
        if self.training is not None:
            self.training.close()
            self.training = None


def _crash(status: int) -> str:
    if status < 0:
        return (
            f"The system ended the training's process (signal {-status}), perhaps because there was too "
            "little memory. Go on from where it was last saved, or start a smaller one."
        )
    return (
        f"The training's process ended without a word (exit status {status}): the terminal of the server "
        "says more. Go on from where it was last saved, or start anew."
    )
