"""A class at work: many people on one server, each with a new sentence every few seconds."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.browser.visitor import Visitor
from bench.measurement import Seconds, median_seconds
from bench.setting import Setting
from transformer.data.tasks import ToyEnIt

PEOPLE = 20
SENTENCES = 6
"""Sentences that each person sends; all are different."""
EVERY_SECONDS = 6.0
BOX = "English sentence"


@dataclass(frozen=True)
class Crowd:
    """How long people waited, and what it cost the server.

    Attributes:
        people: number of people at the same time.
        sentences: number that all of them sent together.
        median_wait: from Enter until the whole page is received.
        wait_of_95_in_100: 95th percentile of the waits.
        processor_per_sentence: processor time over all threads of the server.
        processor_per_page_opened: likewise, not counting the first page.
    """

    people: int
    sentences: int
    median_wait: Seconds
    wait_of_95_in_100: Seconds
    processor_per_sentence: Seconds
    processor_per_page_opened: Seconds


def measure(setting: Setting) -> list[Crowd]:
    """Measure a class on its own server."""
    with setting.server() as (url, process):
        if setting.smallest:
            return [measure_crowd(url, process, people=1, sentences=1, every_seconds=0)]
        return [measure_crowd(url, process)]


def measure_crowd(
    url: str,
    process: int,
    people: int = PEOPLE,
    sentences: int = SENTENCES,
    every_seconds: float = EVERY_SECONDS,
) -> Crowd:
    """Open the page for everybody, and let each person send sentences of the default model's kind.

    Starts are spread evenly over the pause between two sentences, and nobody sends before their last answer
    has arrived. It ends after `sentences` rounds, however long they take.
    """
    texts = _sentences()
    with ExitStack() as open_pages:
        with Visitor(url) as first:
            first.open()
            first.submit(BOX, next(texts))
        before = processor_seconds(process)
        visitors = [open_pages.enter_context(Visitor(url)) for _ in range(people)]
        for visitor in visitors:
            visitor.open()
        opened = processor_seconds(process)
        own = [[next(texts) for _ in range(sentences)] for _ in visitors]
        begin = time.monotonic()
        with ThreadPoolExecutor(people) as pool:
            starts = [begin + every_seconds * number / people for number in range(people)]
            every = [every_seconds] * people
            waits = [wait for waits in pool.map(_work, visitors, own, starts, every) for wait in waits]
        end = processor_seconds(process)
    return Crowd(
        people=people,
        sentences=len(waits),
        median_wait=median_seconds(waits),
        wait_of_95_in_100=Seconds(sorted(waits)[len(waits) * 95 // 100]),
        processor_per_sentence=Seconds((end - opened) / len(waits)),
        processor_per_page_opened=Seconds((opened - before) / people),
    )


def processor_seconds(process: int) -> float:
    """The processor time of a process over all its threads in seconds, user and system.

    Raises:
        OSError: the process has ended, or the system has no /proc (only Linux has).
    """
    after_name = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def _sentences() -> Iterator[str]:
    """English sentences, the same in each run; the first 19,000 are all different."""
    return (" ".join(pair.source) for pair in ToyEnIt().pairs(1, held_out=False))


def _work(visitor: Visitor, texts: Sequence[str], start: float, every_seconds: float) -> list[float]:
    waits = []
    for number, text in enumerate(texts):
        time.sleep(max(0.0, start + number * every_seconds - time.monotonic()))
        waits.append(visitor.submit(BOX, text))
    return waits
