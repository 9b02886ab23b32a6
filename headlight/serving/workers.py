"""The places for workers, each with its port: starts a worker there, ends it, and cleans up after it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headlight.serving.fork_server import ForkServer
from headlight.serving.processes import end_processes_in

END_SECONDS = 5.0
"""Time that a worker has to end after it was asked to."""
STEADY_SECONDS = 60.0
"""A worker that ran for as long is restarted at once if it dies."""
LONGEST_PAUSE_SECONDS = 30.0


@dataclass
class Slot:
    """A place for a worker.

    Attributes:
        name: its name for HAProxy.
        port: its port of the loopback address.
        folder: for the temporary files of its worker; removed with the worker.
        is_wanted: True if a worker should run here.
        pid: the worker's process; 0 for none.
        is_up: True once HAProxy sends visitors here.
    """

    name: str
    port: int
    folder: Path
    is_wanted: bool
    pid: int = 0
    is_up: bool = False
    _n_failures: int = 0
    _started_at: float = 0.0
    _due_at: float = 0.0
    """When to start a worker again, or to kill one that was asked to end, by `time.monotonic`."""

    @property
    def is_settled(self) -> bool:
        """True if what should run here does, or nothing should and does."""
        return self.is_up if self.is_wanted else not self.pid

    @property
    def is_listening(self) -> bool:
        """True if a process listens on the port; HAProxy may not know yet that an earlier worker is gone."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def tend(self, fork_server: ForkServer | None) -> None:
        """Start a worker if one is wanted and its pause is over; kill one that doesn't end."""
        now = time.monotonic()
        if now < self._due_at:
            return
        if self.pid and not self.is_wanted:
            self.kill()
        elif self.is_wanted and not self.pid and fork_server is not None:
            self.folder.mkdir(exist_ok=True)
            self.pid = fork_server.fork(self.port, self.folder) or 0
            self._started_at = now

    def end(self) -> None:
        """Ask the worker to end, and want no other one."""
        self.is_wanted = self.is_up = False
        self._n_failures = 0
        self._due_at = time.monotonic() + END_SECONDS
        if self.pid:
            self.kill(signal.SIGTERM)

    def clean_up(self) -> float:
        """Remove what a worker that has ended left over; returns the seconds until the next one may start."""
        self.pid, self.is_up = 0, False
        end_processes_in(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        now, pause = time.monotonic(), 0.0
        if self.is_wanted:
            if now - self._started_at > STEADY_SECONDS:
                self._n_failures = 0
            pause = min(LONGEST_PAUSE_SECONDS, 2.0**self._n_failures - 1)
            self._n_failures += 1
        self._due_at = now + pause
        return pause

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send the worker a signal; if it ends and is wanted, another one follows."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
