"""What the benchmarks return, and how they take time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Painted:
    """How long it took until something was on the screen, and what had to be sent for it.

    Attributes:
        tokens: length of the sentence.
        seconds: None when it was never painted; then `why` says what happened instead.
        bytes: sent to the browser.
    """

    tokens: int
    seconds: float | None
    bytes: int
    why: str = ""


def seconds(function: Callable[[], object], repeats: int = 3) -> float:
    """The median time that a call takes, after one to warm up."""
    function()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return statistics.median(times)
