"""The process of a training run: the memory that it keeps, and how it is asked to stop.

It is asked by Ctrl-C, or by the SIGTERM of a machine that shuts down or of a queue whose time is up.
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
    """Whether somebody asked to stop.

    Attributes:
        signal: the number of the signal that asked; 0 while none has.
    """

    signal: int = 0

    @property
    def is_made(self) -> bool:
        """Whether a signal has come."""
        return self.signal > 0

    @property
    def exit_status(self) -> int:
        """What a process that was stopped returns, as shells have it: 130 after SIGINT, 143 after SIGTERM.

        One that heard nothing itself was stopped because another one of the same run was.
        """
        return 128 + (self.signal or signal.SIGTERM)


@contextmanager
def stop_requests(acknowledge: Callable[[], None]) -> Iterator[StopRequest]:
    """Note the first signal instead of dying of it; the second one kills as ever.

    In the main thread only, as Python has it.

    Args:
        acknowledge: called at once when the first one comes.
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
    """Let this process keep the memory that it frees, for its next tensors (Linux's C library only).

    By default every large tensor is fetched from the system, page by page, and given back: on a CPU a third
    of a training step went there.
    """
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):
            library.mallopt(_M_MMAP_MAX, 0)
            library.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
