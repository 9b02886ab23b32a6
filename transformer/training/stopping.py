"""Being asked to stop: Ctrl-C, or the SIGTERM of a machine that shuts down or of a queue whose time is up."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass
class StopRequest:
    """Whether somebody asked to stop.

    Attributes:
        signal: the number of the signal that asked; 0 while none has.
    """

    signal: int = 0

    @property
    def exit_status(self) -> int:
        """What a process that was stopped returns, as shells have it: 130 after SIGINT, 143 after SIGTERM."""
        return 128 + self.signal


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
