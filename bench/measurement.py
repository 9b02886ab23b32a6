"""Measuring, comparing and formatting times."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

Ours = TypeVar("Ours")
Theirs = TypeVar("Theirs")


class Seconds(float):
    """A time, formatted in ms or s."""

    def __str__(self) -> str:
        return f"{self * 1000:.0f} ms" if self < 1 else f"{float(self):.1f} s"


class Bytes(int):
    """A size, formatted in kB or MB (powers of ten)."""

    def __str__(self) -> str:
        return f"{self / 1e3:.0f} kB" if self < 1e6 else f"{self / 1e6:.1f} MB"


class PerSecond(float):
    """A speed: sentences or tokens per second."""

    def __str__(self) -> str:
        return f"{float(self):,.0f}/s"


@dataclass(frozen=True)
class Ratio:
    """Our speed relative to the peer's.

    Each round gives one ratio, so that load on the machine affects both sides of it.

    Attributes:
        median: of the rounds' ratios.
        low, high: quartiles of the rounds' ratios.
    """

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        digits = 0 if self.median >= 10 else 2
        return f"{self.median:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


@dataclass(frozen=True)
class Painted:
    """How long a picture took to appear, and how much had been sent by then.

    Attributes:
        seconds: from the action to the picture; None if it was never painted; `why` then gives the reason.
        bytes: sent to the browser by then.
    """

    seconds: Seconds | None
    bytes: Bytes
    why: str = ""

    def __str__(self) -> str:
        return self.why or f"{self.seconds}, {self.bytes}"


@dataclass(frozen=True)
class Memory:
    """The memory of a tab.

    Attributes:
        heap: used by the page's objects and arrays, after a garbage collection.
        tab: private memory of the tab's process, including code and pictures.
    """

    heap: Bytes
    tab: Bytes

    def __str__(self) -> str:
        return f"{self.heap} of {self.tab}"


def median_seconds(times: Sequence[float]) -> Seconds:
    """The median of times."""
    return Seconds(statistics.median(times))


def median_painted(rounds: Sequence[Painted]) -> Painted:
    """The round with the median time."""
    in_order = sorted(rounds, key=lambda one: math.inf if one.seconds is None else one.seconds)
    return in_order[len(rounds) // 2]


def timed(function: Callable[[], object]) -> float:
    """The duration of a call, in seconds."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def in_turn(
    ours: Callable[[], Ours], peers: Sequence[Callable[[], Theirs]], rounds: int
) -> tuple[list[Ours], list[list[Theirs]]]:
    """Call ours and then each peer, for several rounds.

    The first round warms up and is not counted, unless it is the only one.

    Returns:
        Our results and those of each peer, one per counted round.
    """
    results = [(ours(), [peer() for peer in peers]) for _ in range(rounds)]
    own, theirs = zip(*results[min(1, rounds - 1) :], strict=True)
    return list(own), [list(column) for column in zip(*theirs, strict=True)]


def seconds_in_turn(
    ours: Callable[[], object], peers: Sequence[Callable[[], object]], rounds: int
) -> tuple[list[float], list[list[float]]]:
    """The seconds that ours and its peers take, called as in `in_turn`."""
    return in_turn(partial(timed, ours), [partial(timed, peer) for peer in peers], rounds)


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> Ratio:
    """Compare rounds taken in turn: theirs divided by ours, above 1 where ours is less."""
    ratios = [peer / own for peer, own in zip(theirs, ours, strict=True)]
    if len(ratios) == 1:
        return Ratio(ratios[0], ratios[0], ratios[0])
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Ratio(median, low, high)


def painted_ratio(theirs: Sequence[Painted], ours: Sequence[Painted]) -> Ratio | None:
    """Compare painting times as `ratio` does; None if any picture was never painted."""
    times = [[one.seconds for one in rounds if one.seconds is not None] for rounds in (theirs, ours)]
    return ratio(*times) if [len(own) for own in times] == [len(theirs), len(ours)] else None
