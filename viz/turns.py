"""Computations one at a time, in the order of their requests."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Gives turns to threads that would otherwise compete for the same cores and for Python's lock.

    Twelve runs at once take 1.5 times as long as the same twelve one after another.

    Args:
        seconds: how long a turn keeps others waiting; the next may then begin next to it.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._line: deque[object] = deque()
        self._changed = threading.Condition()
        self._owner: object = None
        self._free_at = -math.inf
        """When the next turn may begin even if this one is not over, by `time.monotonic`."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn; it lasts until the block ends."""
        own = object()
        with self._changed:
            self._line.append(own)
            while self._line[0] is not own or not self._is_free():
                self._changed.wait(self._seconds)
            self._line.popleft()
            self._owner, self._free_at = own, time.monotonic() + self._seconds
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                if self._owner is own:
                    self._owner = None
                    self._changed.notify_all()

    def _is_free(self) -> bool:
        return self._owner is None or time.monotonic() >= self._free_at
