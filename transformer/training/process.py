"""The process of a training run: stop requests, and memory settings.

A stop is requested with Ctrl-C, or with SIGTERM by a job queue or a machine that shuts down.
"""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass
class StopRequest:
    """A request to stop, made by a signal.

    Attributes:
        signal: the signal's number; 0 before any.
    """

    signal: int = 0

    @property
    def is_made(self) -> bool:
        """True once a signal was received."""
        return self.signal > 0

    @property
    def exit_status(self) -> int:
        """The exit status after a stop, as in shells: 130 after SIGINT, 143 after SIGTERM.

        A process without a signal of its own was stopped by another process of the run, and returns 143.
        """
        return 128 + (self.signal or signal.SIGTERM)


@contextmanager
def stop_requests(acknowledge: Callable[[], None]) -> Iterator[StopRequest]:
    """Record the first signal instead of ending; a second one ends the process. Main thread only.

    Args:
        acknowledge: called on the first signal.
    """
    request = StopRequest()
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def note(number: int, _: FrameType | None) -> None:
        request.signal = number
        restore()
        acknowledge()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in SIGNALS:
        signal.signal(number, note)
    try:
        yield request
    finally:
        restore()


def keep_freed_memory() -> None:
    """Make the C library reuse freed memory for new tensors (Linux only).

    By default every large tensor maps fresh memory, which takes a third of a training step on a CPU.
    """
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):
            library.mallopt(_M_MMAP_MAX, 0)
            library.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
