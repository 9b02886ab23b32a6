"""Keeps workers and HAProxy running: starts, restarts and replaces them, and ends all of them at the end.

There is one slot more than there are workers. In a rolling restart a new worker starts in the free slot; once
HAProxy sends visitors there, an old worker ends, and its slot is the next free one.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from headlight.serving.fork_server import ForkServer
from headlight.serving.processes import adopt_orphans, end_processes_in
from headlight.serving.proxy import Proxy, ProxyError
from headlight.serving.workers import LONGEST_PAUSE_SECONDS, Slot
from transformer.files import LockedError, locked

LOOK_SECONDS = 0.1
"""Time between two looks at workers that are starting or ending."""
HUNG_SECONDS = 60.0
"""A worker that has failed all health checks for so long is killed."""
_PREFIX, _LOCK = "headlight-serve-", "lock"
_ENDINGS = (signal.SIGTERM, signal.SIGINT)


class Supervisor:
    """Serves until SIGTERM or SIGINT; SIGHUP loads the code again and replaces all workers, one by one.

    Args:
        proxy: HAProxy, not yet started.
        slots: one more than there are workers.
        load: starts the fork server of this number.
    """

    def __init__(self, proxy: Proxy, slots: Sequence[Slot], load: Callable[[int], ForkServer]) -> None:
        self._proxy, self._slots = proxy, slots
        self._start_loading, self._numbers = load, count()
        self._fork_server: ForkServer | None = None
        self._loading: ForkServer | None = None
        self._load_at = time.monotonic()
        self._replaced: list[ForkServer] = []
        self._has_served = False
        self._old: list[Slot] = []
        """Slots whose workers a rolling restart has still to replace."""
        self._has_terminal = os.isatty(0)

    def run(self) -> None:
        """Serve until a signal ends it.

        Raises:
            ProxyError: HAProxy refuses its configuration or the address.
            RuntimeError: the app can't be loaded.
        """
        self._proxy.check()
        adopt_orphans()
        wakes = _signal_pipe()
        try:
            while not self._has_to_end(self._wait(wakes)):
                self._reap()
                self._proxy.tend()
                self._load()
                for slot in self._slots:
                    slot.tend(self._fork_server)
                self._look()
                self._kill_hung()
                self._replace()
        finally:
            self._end()

    def _wait(self, wakes: int) -> bytes:
        """Sleep until there is something to do; returns the signals that came."""
        is_settled = all(slot.is_settled for slot in self._slots) and not self._old
        is_complete = self._fork_server is not None and self._proxy.pid
        loading = None if self._loading is None else self._loading.answers.fileno()
        ready, _, _ = select.select(
            [wakes, *([] if loading is None else [loading])],
            [],
            [],
            HUNG_SECONDS / 6 if is_settled and is_complete else LOOK_SECONDS,
        )
        if loading in ready:
            self._take_over()
        return os.read(wakes, 1024) if wakes in ready else b""

    def _has_to_end(self, signals: bytes) -> bool:
        """Follow signals; True for one that ends everything."""
        if signal.SIGHUP in signals:
            if self._has_terminal and not os.isatty(0):  # the terminal was closed
                return True
            if self._fork_server is not None and self._loading is None:
                say("Loading the code again. The workers will then be replaced one after another.")
                self._loading = self._start_loading(next(self._numbers))
        return any(number in signals for number in _ENDINGS)

    def _reap(self) -> None:
        """Clean up after every process that has ended."""
        for pid, status in ended_children():
            slot = next((slot for slot in self._slots if slot.pid == pid), None)
            if slot is not None:
                is_lost = slot.is_wanted
                pause = slot.clean_up()
                if is_lost and not self._has_served:
                    raise RuntimeError("The app can't be served: see the message above.")
                if is_lost:
                    say(f"Worker {slot.name} died ({_reason(status)}). Another one starts in {pause:.0f} s.")
            elif pid == self._proxy.pid:
                if not self._has_served:
                    raise ProxyError(f"HAProxy can't serve:\n{self._proxy.messages()}")
                say(f"HAProxy died ({_reason(status)}). It is restarted.")
                self._proxy.pid = 0
            elif self._fork_server is not None and pid == self._fork_server.pid:
                self._fork_server.close()
                self._fork_server = None

    def _load(self) -> None:
        """Start loading if there is no fork server."""
        if self._fork_server is None and self._loading is None and time.monotonic() >= self._load_at:
            say("Loading PyTorch and the model …")
            self._loading = self._start_loading(next(self._numbers))

    def _take_over(self) -> None:
        """Fork from the process that has just loaded; without it, continue with what there is."""
        assert self._loading is not None
        loaded, self._loading = self._loading, None
        if not loaded.read_ready():
            loaded.close()
            shutil.rmtree(loaded.folder, ignore_errors=True)
            if not self._has_served:
                raise RuntimeError("The app can't be loaded: see the message above.")
            say("The code can't be loaded: see the message above. The workers stay as they are.")
            self._load_at = time.monotonic() + LONGEST_PAUSE_SECONDS
            return
        if self._fork_server is not None:
            self._fork_server.close()
            self._replaced.append(self._fork_server)
            self._old = [slot for slot in self._slots if slot.is_wanted]
        self._fork_server = loaded

    def _look(self) -> None:
        """Ask HAProxy about workers that have started."""
        waiting = [slot for slot in self._slots if slot.is_wanted and slot.pid and not slot.is_up]
        up = self._proxy.workers_up() if waiting else set()
        for slot in waiting:
            slot.is_up = slot.name in up and slot.is_listening
            if slot.is_up:
                self._has_served = True
                say(f"Worker {slot.name} serves.")

    def _kill_hung(self) -> None:
        """Kill workers that no longer answer."""
        served = [slot for slot in self._slots if slot.is_up]
        hung = self._proxy.workers_down(HUNG_SECONDS) if served else set()
        for slot in served:
            if slot.name in hung:
                say(f"Worker {slot.name} hasn't answered for {HUNG_SECONDS:.0f} s. It is killed.")
                slot.kill()

    def _replace(self) -> None:
        """Take the next step of a rolling restart."""
        if not self._old:
            return
        wanted = [slot for slot in self._slots if slot.is_wanted]
        if len(wanted) < len(self._slots):
            free = next(slot for slot in self._slots if not slot.is_wanted)
            free.is_wanted = not free.pid  # or wait until its worker has ended
        elif all(slot.is_up for slot in wanted):
            self._old.pop(0).end()
        if not self._old:
            say("All workers are replaced.")
            for server in self._replaced:
                shutil.rmtree(server.folder, ignore_errors=True)
            self._replaced.clear()

    def _end(self) -> None:
        """End all processes, and remove what they left."""
        self._proxy.end()
        for server in (self._fork_server, self._loading):
            if server is not None:
                server.close()
        for slot in self._slots:
            slot.end()
        while running := [slot for slot in self._slots if slot.pid]:
            for pid, _ in ended_children():
                for slot in running:
                    if slot.pid == pid:
                        slot.clean_up()
            for slot in running:
                slot.tend(None)
            time.sleep(LOOK_SECONDS)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for temporary files; those that a killed supervisor left are removed first."""
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(LockedError, OSError), locked(lock):
            for folder in lock.parent.iterdir():
                end_processes_in(folder)
            shutil.rmtree(lock.parent, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as root,
        locked(Path(root) / _LOCK),
    ):
        yield Path(root)


def ended_children() -> Iterator[tuple[int, int]]:
    """Reap every child that has ended: its process id and exit status, negative for a signal."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        yield pid, os.waitstatus_to_exitcode(status)


def say(what: str) -> None:
    """Print a line at once."""
    print(what, flush=True)


def _reason(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"


def _signal_pipe() -> int:
    """A pipe from which the numbers of received signals can be read."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (*_ENDINGS, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return reading
