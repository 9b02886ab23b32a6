"""The latest runs and answers, shared by all users: each is computed once, however many ask at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from cachetools import LRUCache

from transformer.errors import SentenceError

OnReport = Callable[[Any, int], None]
"""Called while a run is computed, with the latest step (a `DecodingStep`, or a count) and the most steps."""
LOOK_EVERY = 0.1
"""Seconds between two checks of a computation that another user started."""
_LEAF, _OBJECT = 64, 512
"""Bytes assumed for a number or a short text, and for a tensor apart from its numbers."""
TOO_LARGE = (
    "The device's memory is too small for this sentence. Type a shorter one, or choose another device in the "
    "sidebar."
)


@dataclass
class _Flight:
    """A run that is being computed, its state for those who wait for it, and its size once it has landed."""

    landed: threading.Event = field(default_factory=threading.Event)
    run: Any = None
    error: Exception | None = None
    latest: tuple[Any, int] | None = None
    size: int = 0


class RunCache:
    """The latest runs, and what was computed from them, up to a total size in bytes; thread-safe."""

    def __init__(self, max_bytes: int) -> None:
        self._runs: LRUCache[Any, _Flight] = LRUCache(max_bytes, getsizeof=attrgetter("size"))
        self._flights: dict[Any, _Flight] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The run with this key, computed now if missing; a run that is too large is returned but not cached.

        While it is computed for one user, others who request it wait. An error is raised for all of them and
        not cached. If the computation is interrupted (Streamlit ends a script when its user moves on), one of
        those who wait restarts it.
        """
        return self.get_by_steps(key, lambda _: compute(), on_step=None)

    def get_by_steps(self, key: Any, compute: Callable[[OnReport], Any], on_step: OnReport | None) -> Any:
        """Like `get`; `on_step` receives each step, or only the latest ones of another user's computation.

        An exception of `on_step` ends only this user's wait.
        """
        while True:
            with self._lock:
                found = self._runs.get(key)
                if found is not None:
                    return found.run
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
        self, key: Any, flight: _Flight, compute: Callable[[OnReport], Any], on_step: OnReport | None
    ) -> Any:
        def report(step: Any, limit: int) -> None:
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
        flight.size = _size(flight.run)
        with self._lock:
            if self._flights.get(key) is flight:
                del self._flights[key]
                if flight.run is not None and flight.size <= self._runs.maxsize:
                    self._runs[key] = flight
        flight.landed.set()

    def forget(self, is_about: Callable[[Any], bool]) -> None:
        """Drop every run whose key satisfies `is_about`, including those being computed."""
        with self._lock:
            for kept in (self._runs, self._flights):
                for key in [key for key in kept if is_about(key)]:
                    del kept[key]


def _wait(flight: _Flight, on_step: OnReport | None) -> None:
    reported = None
    while not flight.landed.wait(LOOK_EVERY):
        latest = flight.latest
        if on_step is not None and latest is not None and latest is not reported:
            on_step(*latest)
            reported = latest


def _size(value: Any) -> int:
    """Bytes of memory that a value keeps: each storage once, as a whole; other leaves are counted roughly."""
    storages: dict[int, int] = {}
    n_objects = n_leaves = 0
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, torch.Tensor):
            n_objects += 1
            storage = part.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        elif isinstance(part, np.ndarray):
            n_objects += 1
            whole = part.base if isinstance(part.base, np.ndarray) else part  # a view keeps its base
            storages[whole.ctypes.data] = whole.nbytes
        elif isinstance(part, Mapping):
            parts += part.values()
        elif isinstance(part, list | tuple | set | frozenset):
            parts += part
        elif is_dataclass(part):
            parts += [getattr(part, own.name) for own in fields(part)]
        else:
            n_leaves += 1
    return sum(storages.values()) + _OBJECT * n_objects + _LEAF * n_leaves
