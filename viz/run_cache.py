"""The latest runs and answers, shared by all users: each is computed once, however many ask at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
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
    """A run that is being computed, and its state for those who wait for it."""

    landed: threading.Event = field(default_factory=threading.Event)
    run: Any = None
    error: Exception | None = None
    latest: tuple[Any, int] | None = None


class RunCache:
    """The latest runs, and what was computed from them, up to a total size in bytes; thread-safe."""

    def __init__(self, max_bytes: int) -> None:
        self._runs: LRUCache[Any, Any] = LRUCache(max_bytes, getsizeof=_size)
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


def _wait(flight: _Flight, on_step: OnReport | None) -> None:
    reported = None
    while not flight.landed.wait(LOOK_EVERY):
        latest = flight.latest
        if on_step is not None and latest is not None and latest is not reported:
            on_step(*latest)
            reported = latest


def _size(value: Any, counted: set[int] | None = None) -> int:
    """Bytes of memory that a value keeps: each storage once, as a whole; other leaves are counted roughly.

    Args:
        value: tensors, arrays, and dataclasses and collections of them.
        counted: addresses of the storages counted so far; added to.
    """
    counted = set() if counted is None else counted
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        return _OBJECT + _once(storage.data_ptr(), storage.nbytes(), counted)
    if isinstance(value, np.ndarray):
        whole = value.base if isinstance(value.base, np.ndarray) else value  # a view keeps its base
        return _OBJECT + _once(whole.ctypes.data, whole.nbytes, counted)
    if isinstance(value, Mapping):
        return sum(_size(part, counted) for part in value.values())
    if is_dataclass(value):
        return sum(_size(getattr(value, part.name), counted) for part in fields(value))
    if isinstance(value, list | tuple | set | frozenset):
        return sum(_size(part, counted) for part in value)
    return _LEAF


def _once(address: int, size: int, counted: set[int]) -> int:
    if address in counted:
        return 0
    counted.add(address)
    return size
