"""The peak memory of this process and all that descend from it, on Linux."""

from __future__ import annotations

import os
import threading

from scripts.processes import command_line, family, resident

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
        self.peak = max(self.peak, resident("self", "VmHWM:"))

    def _watch(self) -> None:
        while not self._over.wait(_PAUSE):
            self.peak = max(self.peak, resident("self") + sum(map(resident, _children())))


def _children() -> list[int]:
    """The descendants, except forks that have not yet started their own program."""
    own = command_line("self")
    return [child for child in family(os.getpid())[1:] if command_line(child) != own]
