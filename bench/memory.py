"""Memory and processor time of processes and all that descend from them, on Linux."""

from __future__ import annotations

import os
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
    return _kilobytes(f"/proc/{process}/status", which)


def proportional(process: int) -> int:
    """The memory of a process in bytes; what several share is divided between them. 0 if it has ended."""
    return _kilobytes(f"/proc/{process}/smaps_rollup", "Pss:")


def processor_seconds(process: int) -> float:
    """The processor time in seconds, user and system, of a process and all that descend from it.

    Time of those that have ended counts once they have been waited for.
    """
    return sum(map(_processor_seconds, family(process)))


def family(process: int) -> list[int]:
    """A process and all that descend from it."""
    found = [process]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            found += map(int, _text(task).split())
    return found


def _children() -> list[int]:
    """The descendants, except forks that have not yet started their own program."""
    own = _text("/proc/self/cmdline")
    return [child for child in family(os.getpid())[1:] if _text(f"/proc/{child}/cmdline") != own]


def _processor_seconds(process: int) -> float:
    after_name = _text(f"/proc/{process}/stat").rpartition(")")[2].split()
    return sum(map(int, after_name[11:15])) / os.sysconf("SC_CLK_TCK")


def _kilobytes(path: str, entry: str) -> int:
    line = next((line for line in _text(path).splitlines() if line.startswith(entry)), "")
    return int(line.split()[1]) * 1024 if line else 0


def _text(path: str | Path) -> str:
    """A file of /proc; "" if its process has ended."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
