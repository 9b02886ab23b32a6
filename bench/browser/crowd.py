"""A class at work: many people on one server, each with a new sentence every few seconds."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.browser.visitor import Visitor
from scripts.browser import ROOT, server_process
from transformer.data.tasks.toy_en_it import ToyEnIt

PEOPLE = 20
SENTENCES = 6
"""New ones of each user; all are different."""
EVERY_SECONDS = 6.0
BOX = "English sentence"


@dataclass(frozen=True)
class Crowd:
    """How long people waited, from Enter to the whole page received, and what it cost the server.

    Attributes:
        people: at a time.
        sentences: sent by all of them.
        median: seconds of waiting.
        slow: seconds that 95 of 100 sentences took at most.
        processor: seconds of processor time of the server, all of its threads, for each sentence.
        opening: seconds of processor time for each page opened, the first one left out.
    """

    people: int
    sentences: int
    median: float
    slow: float
    processor: float
    opening: float


def measure_crowd(
    people: int = PEOPLE, sentences: int = SENTENCES, every_seconds: float = EVERY_SECONDS
) -> Crowd:
    """Start a server, open the page for everybody, and let each send sentences of the default model's kind.

    The people begin evenly spread over the pause between two sentences, and none sends before the answer to
    the last sentence is there. It ends after `sentences` rounds, whatever they took.
    """
    texts = _sentences()
    with server_process(ROOT / "app.py") as (url, process), ExitStack() as open_pages:
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
        median=statistics.median(waits),
        slow=sorted(waits)[len(waits) * 95 // 100],
        processor=(end - opened) / len(waits),
        opening=(opened - before) / people,
    )


def processor_seconds(process: int) -> float:
    """The processor time that a process has used with all of its threads, in its own code and the system's.

    Raises:
        OSError: the process has ended, or the system has no /proc (Linux alone has).
    """
    after_name = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def _sentences() -> Iterator[str]:
    """Different English sentences without end, always the same ones."""
    said = set()
    for pair in ToyEnIt().pairs(1, held_out=False):
        text = " ".join(pair.source)
        if text not in said:
            said.add(text)
            yield text


def _work(visitor: Visitor, texts: Sequence[str], start: float, every_seconds: float) -> list[float]:
    waits = []
    for number, text in enumerate(texts):
        time.sleep(max(0.0, start + number * every_seconds - time.monotonic()))
        waits.append(visitor.submit(BOX, text))
    return waits
