"""The peak memory of a process and its children, on Linux."""

from __future__ import annotations

import threading
from pathlib import Path

_PAUSE = 0.005
"""Seconds between two samples."""


class PeakMemory:
    """Samples the memory of this process and its children: `before`, at the start, and `peak`, in bytes."""

    def __init__(self) -> None:
        self.before = self.peak = resident("self")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.peak = max(self.peak, resident("self", "VmHWM"))

    def _watch(self) -> None:
        while not self._over.wait(_PAUSE):
            self.peak = max(self.peak, resident("self") + sum(map(resident, _children())))


def resident(process: int | str, which: str = "VmRSS") -> int:
    """The resident memory of a process in bytes (VmRSS), or its peak (VmHWM); 0 if it has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(which)), 0)


def _children() -> list[int]:
    """The child processes, except forks that have not yet started their own program."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        try:
            children = (task / "children").read_text(encoding="utf-8").split()
        except OSError:
            continue
        found += [int(child) for child in children if _command(child) != _command("self")]
    return found


def _command(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
