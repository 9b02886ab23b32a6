"""A class on killed workers and a full disk; and what the soak would find is found."""

from __future__ import annotations

import random
import threading

import pytest

from headlight.serving.proxy import find_haproxy
from scripts.soak import SETTLED_SECONDS, Plan, Sample, memory_growth, soak
from scripts.soaking.people import Findings, Person, names
from scripts.soaking.server import tracebacks_in
from tests.support.missing import missing


@pytest.mark.full
def test_ten_minutes(seed: int) -> None:
    """`python -m scripts.soak` goes on for an hour."""
    if find_haproxy() is None:
        missing("no HAProxy on PATH: install it (Debian and Ubuntu: apt-get install haproxy)")
    done = soak(10, n_people=20, n_workers=2, seed=seed)
    assert not done.findings.errors
    assert done.restarts
    assert done.findings.done["typed a sentence"]


def test_an_hour_has_kills_every_five_minutes_and_a_full_disk_for_two() -> None:
    plan = Plan.of(60)
    assert (plan.length, plan.kill_every, plan.disk_for) == (3600, 300, 120)
    assert 0 < plan.disk_at < plan.disk_at + plan.disk_for < plan.length
    assert Plan.of(10).kill_every == 120


@pytest.mark.parametrize("growth, is_found", [(0.0, False), (0.04, False), (0.1, True)])
def test_a_worker_that_grows_is_found(growth: float, is_found: bool) -> None:
    """Only from the age on at which it has everything; it may grow as it likes before."""
    ages = [60.0 * minute for minute in range(60)]
    sizes = [1000 if age <= SETTLED_SECONDS else round(2000 * (1 + growth * (age > 3000))) for age in ages]
    samples = [Sample(age, size, {7: (age, size)}) for age, size in zip(ages, sizes, strict=True)]
    (line,) = memory_growth(samples)
    assert line.is_too_much == is_found, line


def test_a_worker_that_was_killed_early_says_nothing() -> None:
    assert not memory_growth([Sample(at, 10, {7: (at, 10)}) for at in (10.0, 20.0)])


def test_tracebacks_are_found_in_a_log() -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1\n    x()\nValueError: no'
    (found,) = tracebacks_in(f"Worker w0 serves.\n{trace}\nWorker w0 died.\n")
    assert found == trace


def test_words_of_another_are_found() -> None:
    own, other = names(2, random.Random(1))
    findings = Findings()
    person = Person("", own, [other], findings, threading.Event(), random.Random(1))

    class Page:
        path, query, received = "decode", "", f"the cat of {other}".encode()

    person._see(Page(), 0.1)  # type: ignore[arg-type]
    assert list(findings.errors) == [f"{own}: received {other}'s text on the page decode"]
