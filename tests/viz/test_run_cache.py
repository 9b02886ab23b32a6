"""Runs are shared between equal requests, bounded, never mixed up; one that fails leaves nobody waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.crosses import full
from tests.support.models import tiny_model
from transformer.decoding.greedy import DecodingStep
from transformer.errors import SentenceError
from transformer.run import OnStep, Run, run_sentence
from viz.run_cache import RunCache

N_WAITING = 5
LIMIT = 60.0
"""Seconds; reached only if something hangs."""


class Stopped(BaseException):
    """As Streamlit's exception in a script whose user has moved on: not an Exception."""


class Crowd:
    """Users who request one run: the first computes it and has reported a step; the others received it."""

    def __init__(self, pool: ThreadPoolExecutor, end: Callable[[], Run]) -> None:
        self.cache = RunCache(10**9)
        self.run = run_sentence(tiny_model(), "the cat")
        self.computed: list[str] = []
        self._begun, self._may_end = threading.Event(), threading.Event()
        self.first = pool.submit(self.cache.get_by_steps, "key", self._first_computes(end), None)
        assert self._begun.wait(LIMIT)
        heard = [threading.Event() for _ in range(N_WAITING)]
        self.others: list[Future[Run]] = [
            pool.submit(self.cache.get_by_steps, "key", self._another_computes, self._hear(event))
            for event in heard
        ]
        assert all(event.wait(LIMIT) for event in heard)

    def let_end(self) -> None:
        self._may_end.set()

    def _first_computes(self, end: Callable[[], Run]) -> Callable[[OnStep], Run]:
        def compute(tell: OnStep) -> Run:
            self.computed.append("first")
            tell(self.run.steps[0], 10)
            self._begun.set()
            assert self._may_end.wait(LIMIT)
            return end()

        return compute

    def _another_computes(self, _: OnStep) -> Run:
        self.computed.append("another")
        return self.run

    def _hear(self, event: threading.Event) -> OnStep:
        def on_step(step: DecodingStep, limit: int) -> None:
            assert (step, limit) == (self.run.steps[0], 10)
            event.set()

        return on_step


@pytest.fixture
def pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1 + N_WAITING)


def test_thirty_people_who_ask_at_once_get_one_run(pool: ThreadPoolExecutor) -> None:
    run = run_sentence(tiny_model(), "the cat")
    crowd = Crowd(pool, lambda: run)
    crowd.let_end()
    assert crowd.first.result(LIMIT) is run
    assert all(other.result(LIMIT) is run for other in crowd.others)
    assert crowd.cache.get("key", lambda: pytest.fail("it is there")) is run
    assert crowd.computed == ["first"]


def test_an_error_reaches_everybody_and_is_not_kept(pool: ThreadPoolExecutor) -> None:
    def refuse() -> Run:
        raise SentenceError("too long")

    crowd = Crowd(pool, refuse)
    crowd.let_end()
    for user in (crowd.first, *crowd.others):
        with pytest.raises(SentenceError, match="too long"):
            user.result(LIMIT)
    assert crowd.computed == ["first"]
    assert crowd.cache.get("key", lambda: crowd.run) is crowd.run


def test_a_device_without_the_memory_is_said_in_words() -> None:
    def compute() -> Run:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    with pytest.raises(SentenceError, match="Type a shorter one, or choose another device"):
        RunCache(1).get("key", compute)


def test_when_the_first_moves_on_one_of_the_others_computes(pool: ThreadPoolExecutor) -> None:
    def stop() -> Run:
        raise Stopped

    crowd = Crowd(pool, stop)
    crowd.let_end()
    with pytest.raises(Stopped):
        crowd.first.result(LIMIT)
    assert all(other.result(LIMIT) is crowd.run for other in crowd.others)
    assert crowd.computed == ["first", "another"]


def test_who_moves_on_while_waiting_stops_nobody_else(pool: ThreadPoolExecutor) -> None:
    run = run_sentence(tiny_model(), "the cat")
    crowd = Crowd(pool, lambda: run)

    def move_on(step: DecodingStep, limit: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        crowd.cache.get_by_steps("key", lambda _: pytest.fail("it is being computed"), move_on)
    crowd.let_end()
    assert all(user.result(LIMIT) is run for user in (crowd.first, *crowd.others))


def test_the_run_of_a_model_that_was_closed_meanwhile_is_not_kept(pool: ThreadPoolExecutor) -> None:
    old = run_sentence(tiny_model(), "the cat")
    crowd = Crowd(pool, lambda: old)
    crowd.cache.forget(lambda key: key == "key")
    assert crowd.cache.get("key", lambda: crowd.run) is crowd.run
    crowd.let_end()
    assert crowd.first.result(LIMIT) is old
    assert crowd.cache.get("key", lambda: pytest.fail("it is there")) is crowd.run


def test_the_oldest_runs_go_when_there_are_too_many_bytes() -> None:
    run = run_sentence(tiny_model(), "the cat")
    storages = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage() for tensor in run.trace.values()
    }
    bytes_of_tensors = sum(storage.nbytes() for storage in storages.values())
    assert "a" in recomputed(RunCache(3 * bytes_of_tensors), run), "its objects take memory, too"
    assert recomputed(RunCache(100 * bytes_of_tensors), run) == []


def test_a_view_counts_as_the_storage_that_it_keeps_and_each_storage_once() -> None:
    storage, other = torch.zeros(10_000), np.zeros(10_000)
    kept = {"first": storage[:1], "rest": [storage[1:], storage], "array": (other[:1], other)}
    assert recomputed(RunCache(2 * 120_000), kept) == ["b", "a"]
    assert recomputed(RunCache(3 * 120_000), kept) == ["a"]


def recomputed(cache: RunCache, value: Any) -> list[str]:
    """Put a value under the keys a, b and c; return those of c, b and a that are computed again."""
    for key in "abc":
        cache.get(key, lambda: value)
    computed: list[str] = []

    def compute(key: str) -> Any:
        computed.append(key)
        return value

    for key in "cba":
        cache.get(key, partial(compute, key))
    return computed


def test_a_run_too_large_to_keep_is_still_returned() -> None:
    run = run_sentence(tiny_model(), "the cat")
    assert RunCache(1).get("a", lambda: run) is run


@pytest.mark.parametrize("attempt", [0, *full(1, 2)])
def test_many_people_at_once_each_get_their_own_sentence(attempt: int) -> None:
    loaded, cache = tiny_model(attempt), RunCache(10**9)
    words = ["cat", "dog", "i", "saw", "see", "the", "yesterday", "a"]
    texts = [" ".join(words[i % 8] for i in range(start, start + 1 + start % 7)) for start in range(40)]
    expected = {text: run_sentence(loaded, text) for text in set(texts)}

    def one_person(text: str) -> tuple[str, Run]:
        return text, cache.get(text, lambda: run_sentence(loaded, text))

    with ThreadPoolExecutor(8) as people:
        for text, run in people.map(one_person, texts):
            assert run.source.words == text.split()
            assert run.trace.src_tokens[0] == (*text.split(), "<eos>")
            assert all(torch.equal(run.trace[path], expected[text].trace[path]) for path in run.trace)
