"""What the benchmarks return, and how they take time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

ViewName = Literal["model_view", "head_view"]


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


@dataclass(frozen=True)
class Memory:
    """What a tab holds.

    Attributes:
        heap: bytes of the page's objects and arrays, after a garbage collection.
        tab: bytes that the browser's process for it has for itself: what it has painted, and its code, too.
    """

    heap: int
    tab: int


@dataclass(frozen=True)
class BertvizView:
    """One attention in one view of BertViz.

    Attributes:
        view: "model_view" has every head, "head_view" the lines of one layer's.
        layers, heads: how many.
        opened: from the call in Python to the painted page; bytes of the page, the libraries apart.
        memory: of the tab in the end; None where it was never painted.
    """

    view: ViewName
    layers: int
    heads: int
    opened: Painted
    memory: Memory | None


def seconds(function: Callable[[], object], repeats: int = 3) -> float:
    """The median time that a call takes, after one to warm up."""
    function()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return statistics.median(times)
