"""Turns: one at a time, first come first served; neither an error nor a long turn holds the others up."""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from viz.turns import Turns

LIMIT = 60.0
"""Seconds; reached only if something hangs."""


def test_turns_do_not_overlap_and_come_in_the_order_of_the_requests() -> None:
    turns, order, at_once = Turns(LIMIT), list[int](), list[int]()
    running = threading.Semaphore(0)

    def work(number: int) -> None:
        with turns.turn():
            running.release()
            order.append(number)
            at_once.append(running._value)
            assert running.acquire(timeout=LIMIT)

    with ThreadPoolExecutor(8) as pool:
        with turns.turn():
            waiting = []
            for number in range(8):
                waiting.append(pool.submit(work, number))
                while len(turns._line) <= number:
                    pass
        for one in waiting:
            one.result(LIMIT)
    assert order == list(range(8))
    assert at_once == [1] * 8


@pytest.mark.parametrize("seconds", [0.0, 0.001])
def test_a_long_turn_lets_the_next_begin_next_to_it(seconds: float) -> None:
    turns, over = Turns(seconds), threading.Event()

    def work() -> None:
        with turns.turn():
            over.set()

    with ThreadPoolExecutor(1) as pool, turns.turn():
        pool.submit(work)
        assert over.wait(LIMIT), "it began although the first turn has not ended"


def test_an_error_ends_the_turn() -> None:
    turns = Turns(math.inf)
    with pytest.raises(ValueError, match="refused"), turns.turn():
        raise ValueError("refused")
    with turns.turn():
        pass


def test_a_long_turn_that_ends_late_does_not_end_the_next_one() -> None:
    turns = Turns(0.0)
    first, second = turns.turn(), turns.turn()
    first.__enter__()
    turns._seconds = LIMIT
    second.__enter__()
    first.__exit__(None, None, None)
    assert not turns._is_free()
    second.__exit__(None, None, None)
    assert turns._is_free()
