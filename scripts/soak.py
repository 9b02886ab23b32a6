"""Serves a class for an hour while things go wrong: workers are killed, and the disk is full for a while.

Most people have no browser: they speak Streamlit's own messages, type sentences with words of their own,
change pages, upload checkpoints and train models; two have a real Chromium, one of them with a wrong clock.
Nobody may see an error or another's words, all workers must serve again after each kill, and those that live
long must not grow. The exit status is 1 if anything of that is broken.
"""

from __future__ import annotations

import argparse
import random
import secrets
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.processes import proportional
from scripts.soaking.browsers import Browsers
from scripts.soaking.people import Findings, Person, names
from scripts.soaking.server import Server, server_is_complete, serving
from transformer.checkpoints.places import MODELS
from viz.figures.chromium import find_chromium

CHECKPOINT = [MODELS / "toy-en-it" / name for name in ("model.safetensors", "config.json", "vocabulary.json")]
SAMPLE_SECONDS = 15.0
SETTLED_SECONDS = 600.0
"""Age from which the memory of a worker must stay the same."""
GROWTH, LEAST_SAMPLES = 0.05, 2
RESTART_SECONDS = 30.0
MEBIBYTE = 2**20


@dataclass(frozen=True)
class Plan:
    """What happens when, in seconds.

    Attributes:
        length: of the whole soak.
        kill_every: time between two kills.
        disk_at, disk_for: when the disk is full, and for how long.
    """

    length: float
    kill_every: float
    disk_at: float
    disk_for: float

    @classmethod
    def of(cls, minutes: float) -> Plan:
        """The plan of a soak: an hour has a kill every five minutes, and two minutes of a full disk."""
        length, is_short = 60 * minutes, minutes < 20
        return cls(length, 120 if is_short else 300, 0.45 * length, min(30 if is_short else 120, length / 10))


@dataclass(frozen=True)
class Sample:
    """The memory of the server at a moment.

    Attributes:
        at: seconds since the start.
        total: of all processes in bytes.
        workers: process id -> (its age in seconds, its bytes).
    """

    at: float
    total: int
    workers: dict[int, tuple[float, int]]


@dataclass(frozen=True)
class Growth:
    """How the memory of a worker changed once it was SETTLED_SECONDS old: medians of two quarters.

    Attributes:
        pid: the worker.
        ages: its ages at the beginning and at the end in seconds.
        sizes: its memory in the first quarter and in the last in bytes.
    """

    pid: int
    ages: tuple[float, float]
    sizes: tuple[float, float]

    @property
    def is_too_much(self) -> bool:
        """True if it grew by more than GROWTH."""
        return self.sizes[1] > (1 + GROWTH) * self.sizes[0]

    def __str__(self) -> str:
        (begin, end), (first, last) = self.ages, self.sizes
        return (
            f"worker {self.pid}: {first / MEBIBYTE:,.0f} MiB at age {begin / 60:.0f} min, "
            f"{last / MEBIBYTE:,.0f} MiB at {end / 60:.0f} min ({last / first - 1:+.1%})"
        )


def memory_growth(samples: Sequence[Sample]) -> list[Growth]:
    """How each worker grew that lived long enough."""
    lives: dict[int, list[tuple[float, int]]] = {}
    for sample in samples:
        for pid, (age, size) in sample.workers.items():
            if age > SETTLED_SECONDS:
                lives.setdefault(pid, []).append((age, size))
    grown = []
    for pid, life in lives.items():
        quarter = len(life) // 4
        if quarter < LEAST_SAMPLES:
            continue
        first, last = (
            statistics.median(size for _, size in part) for part in (life[:quarter], life[-quarter:])
        )
        grown.append(Growth(pid, (life[0][0], life[-1][0]), (first, last)))
    return grown


class Soak:
    """One soak.

    Args:
        server: the server.
        plan: what happens when.
        n_people: number of people without a browser.
        rng: draws everything.

    Attributes:
        findings: what was found.
        samples: memory over time.
        restarts: seconds from each kill until all workers listened again.
    """

    def __init__(self, server: Server, plan: Plan, n_people: int, rng: random.Random) -> None:
        self.findings = Findings()
        self.samples: list[Sample] = []
        self.restarts: list[float] = []
        self._server, self._plan, self._over = server, plan, threading.Event()
        words = names(n_people + 2, rng)
        own, browsers = words[:n_people], words[n_people:]
        self._people = [
            Person(
                server.url,
                word,
                [other for other in words if other != word],
                self.findings,
                self._over,
                random.Random(rng.random()),
                checkpoint=CHECKPOINT if number % 5 == 1 else (),
                trains=number % 5 == 3,
            )
            for number, word in enumerate(own)
        ]
        chromium = find_chromium()
        self._browsers = chromium and Browsers(
            server.url, chromium, browsers, own, self.findings, self._over, random.Random(rng.random())
        )

    def run(self) -> None:
        """Run it to its end."""
        started = time.monotonic()
        crowd: list[threading.Thread] = [*self._people, *([self._browsers] if self._browsers else [])]
        for one in crowd:
            one.start()
        kill_at, sample_at, disk = self._plan.kill_every, 0.0, None
        while (now := time.monotonic() - started) < self._plan.length:
            if now >= sample_at:
                self.samples.append(self._sample(now))
                sample_at = now + SAMPLE_SECONDS
            is_full = 0 <= now - self._plan.disk_at < self._plan.disk_for and self._server.disk is not None
            if is_full and disk is None:
                disk = self._server.full_disk()
                disk.__enter__()
            elif disk is not None and not is_full:
                disk.__exit__(None, None, None)
                disk = None
            if now >= kill_at and now < self._plan.length - RESTART_SECONDS:
                self._kill()
                kill_at += self._plan.kill_every
            time.sleep(0.5)
        self._over.set()
        for one in crowd:
            one.join(120)
            if one.is_alive():
                self.findings.add(one.name, "hangs")
        for trace in self._server.tracebacks():
            self.findings.add("the server's log", trace)

    def _kill(self) -> None:
        """Kill a worker; all of them must be there again soon."""
        if self._browsers:
            self._browsers.killed_at = time.monotonic()
        killed = self._server.kill_youngest()
        since = time.monotonic()
        while killed in self._server.workers():
            time.sleep(0.05)
        if server_is_complete(self._server, RESTART_SECONDS):
            self.restarts.append(time.monotonic() - since)
        else:
            self.findings.add("the server", f"a worker is missing {RESTART_SECONDS:.0f} s after a kill")

    def _sample(self, now: float) -> Sample:
        workers = {pid: (age, proportional(pid)) for pid, age in self._server.workers().items()}
        return Sample(now, self._server.memory(), workers)

    def report(self) -> str:
        """Everything in a table."""
        found, waits = self.findings, sorted(self.findings.waits)
        rows = [(what, f"{count:,}") for what, count in sorted(found.done.items())]
        if waits:
            rows.append(
                ("answers", f"{len(waits):,}: median {_at(waits, 0.5)}, 95 in 100 within {_at(waits, 0.95)}")
            )
        if back := sorted(found.returns):
            rows.append(
                ("lost connections", f"served again after {_at(back, 0.5)}, at most {back[-1]:.1f} s")
            )
        if self.restarts:
            rows.append(
                ("kills", f"{len(self.restarts)}, workers back after at most {max(self.restarts):.1f} s")
            )
        disk = (
            f"full for {self._plan.disk_for:.0f} s"
            if self._server.disk
            else "SKIPPED: no small disk can be mounted"
        )
        rows.append(("disk", disk))
        rows.append(("Chromium", "2 visitors" if self._browsers else "SKIPPED: none is installed"))
        grown = memory_growth(self.samples)
        for growth in grown:
            rows.append(("memory", str(growth)))
            if growth.is_too_much:
                self.findings.add("the server", f"memory grows: {growth}")
        if not grown:
            rows.append(
                ("memory", f"SKIPPED: no worker became much older than {SETTLED_SECONDS / 60:.0f} min")
            )
        rows.append(
            ("all processes", " ".join(f"{sample.total / MEBIBYTE:,.0f}" for sample in self.samples[::8]))
        )
        rows += [("FINDING", f"{count} x {error}") for error, count in found.errors.most_common()]
        rows.append(("findings", str(len(found.errors))))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


def _at(ordered: Sequence[float], share: float) -> str:
    return f"{ordered[min(len(ordered) - 1, int(share * len(ordered)))]:.2f} s"


def soak(minutes: float, n_people: int, n_workers: int, seed: int) -> Soak:
    """Run a soak to its end and print its report."""
    with tempfile.TemporaryDirectory() as folder, serving(n_workers, Path(folder)) as server:
        one = Soak(server, Plan.of(minutes), n_people, random.Random(seed))
        one.run()
        print(one.report(), flush=True)
    return one


def main() -> int:
    """Soak; returns exit status 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="the same people again")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    return 1 if soak(given.minutes, given.people, given.workers, given.seed).findings.errors else 0


if __name__ == "__main__":
    sys.exit(main())
