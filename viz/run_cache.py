"""The latest runs, shared by all users: each is computed once, however many request it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from cachetools import LRUCache

from transformer.decoding.greedy import DecodingStep
from transformer.errors import SentenceError
from transformer.model.trace import Trace
from transformer.run import OnStep, Run

LOOK_EVERY = 0.1
"""Seconds between two checks of a computation that another user started."""
TOO_LARGE = (
    "The device's memory is too small for this sentence. Type a shorter one, or choose another device in the "
    "sidebar."
)


@dataclass
class _Flight:
    """A run that is being computed, and its state for those who wait for it."""

    landed: threading.Event = field(default_factory=threading.Event)
    run: Any = None
    error: Exception | None = None
    latest: tuple[DecodingStep, int] | None = None


class RunCache:
    """The latest runs, up to a total size of their recorded tensors in bytes; thread-safe."""

    def __init__(self, max_bytes: int) -> None:
        self._runs: LRUCache[Any, Run | Trace] = LRUCache(max_bytes, getsizeof=_size)
        self._flights: dict[Any, _Flight] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The run with this key, computed now if missing; a run that is too large is returned but not cached.

        While it is computed for one user, others who request it wait. An error is raised for all of them and
        not cached. If the computation is interrupted (Streamlit ends a script when its user moves on), one of
        those who wait restarts it.
        """
        return self.get_by_steps(key, lambda _: compute(), on_step=None)

    def get_by_steps(self, key: Any, compute: Callable[[OnStep], Any], on_step: OnStep | None) -> Any:
        """Like `get`; `on_step` receives each step, or only the latest ones of another user's computation.

        An exception of `on_step` ends only this user's wait.
        """
        while True:
            with self._lock:
                found = self._runs.get(key)
                if found is not None:
                    return found
                flight, is_own = self._flights.get(key), False
                if flight is None:
                    flight, is_own = self._flights.setdefault(key, _Flight()), True
            if is_own:
                return self._fly(key, flight, compute, on_step)
            _wait(flight, on_step)
            if flight.error is not None:
                raise flight.error
            if flight.run is not None:
                return flight.run

    def _fly(
        self, key: Any, flight: _Flight, compute: Callable[[OnStep], Any], on_step: OnStep | None
    ) -> Any:
        def report(step: DecodingStep, limit: int) -> None:
            flight.latest = (step, limit)
            if on_step is not None:
                on_step(step, limit)

        try:
            flight.run = compute(report)
        except torch.OutOfMemoryError as error:
            flight.error = SentenceError(TOO_LARGE)
            raise flight.error from error
        except Exception as error:
            flight.error = error
            raise
        finally:
            self._land(key, flight)
        return flight.run

    def _land(self, key: Any, flight: _Flight) -> None:
        """Cache the run, unless its model was dropped meanwhile, and wake those who wait."""
        with self._lock:
            if self._flights.get(key) is flight:
                del self._flights[key]
                if flight.run is not None and _size(flight.run) <= self._runs.maxsize:
                    self._runs[key] = flight.run
        flight.landed.set()

    def forget(self, is_about: Callable[[Any], bool]) -> None:
        """Drop every run whose key satisfies `is_about`, including those being computed."""
        with self._lock:
            for kept in (self._runs, self._flights):
                for key in [key for key in kept if is_about(key)]:
                    del kept[key]


def _wait(flight: _Flight, on_step: OnStep | None) -> None:
    reported = None
    while not flight.landed.wait(LOOK_EVERY):
        latest = flight.latest
        if on_step is not None and latest is not None and latest is not reported:
            on_step(*latest)
            reported = latest


def _size(run: Run | Trace) -> int:
    trace = run.trace if isinstance(run, Run) else run
    return sum(tensor.nbytes for tensor in trace.values())
