"""A class at work: many people on one server, in one process and in several, each with new sentences."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import islice

import torch

from bench.measurement import Bytes, PerSecond, Seconds, median_seconds
from bench.setting import Setting
from scripts.processes import family, processor_seconds, proportional
from scripts.soaking.connection import Connection
from transformer.checkpoints.folder import open_saved
from transformer.checkpoints.places import default_model
from transformer.data.tasks import ToyEnIt
from transformer.run import run_sentence

PROCESSES = (0, 1, 2, 4)
"""Workers with a proxy in front; 0 for the app alone, without a proxy."""
CLASSES = ((20, 6, 6.0), (60, 2, 12.0), (12, 6, 0.0))
"""People, the sentences of each, and the seconds between two of them; with 0 a person never pauses."""
BOX = "English sentence"
_QUIET_SECONDS, _LONGEST_SECONDS = 1.0, 60.0


@dataclass(frozen=True)
class Crowd:
    """How long people waited, and what it cost the server.

    Attributes:
        workers: processes with a proxy in front; 0 for the app alone.
        people: number of people at the same time.
        every: time between two sentences of one person; with 0 the server is saturated.
        sentences: number that all of them sent together.
        per_second: sentences answered in a second.
        median_wait: from Enter until the whole page is received.
        wait_of_95_in_100: 95th percentile of the waits.
        processor_per_sentence: processor time over all processes and threads of the server.
        model_per_sentence: the model alone with the same sentences afterwards, on one thread.
        processor_per_page_opened: likewise, not counting the first page.
        memory: of all processes at the end; what they share is counted once.
    """

    workers: int
    people: int
    every: Seconds
    sentences: int
    per_second: PerSecond
    median_wait: Seconds
    wait_of_95_in_100: Seconds
    processor_per_sentence: Seconds
    model_per_sentence: Seconds
    processor_per_page_opened: Seconds
    memory: Bytes


def measure(setting: Setting) -> list[Crowd]:
    """Measure classes on servers of their own: without a proxy, and with several numbers of workers."""
    if setting.smallest:
        with setting.server() as (url, process):
            return [measure_crowd(url, process, people=1, sentences=1, every=0)]
    rows = []
    texts = english_sentences()
    for workers in PROCESSES:
        with setting.server(workers) as (url, process):
            rows += [measure_crowd(url, process, *sizes, workers=workers, texts=texts) for sizes in CLASSES]
    return rows


def measure_crowd(
    url: str,
    process: int,
    people: int,
    sentences: int,
    every: float,
    *,
    workers: int = 0,
    texts: Iterator[str] | None = None,
) -> Crowd:
    """Open the page for everybody, and let each person send sentences of the default model's kind.

    Starts are spread evenly over the pause between two sentences, and nobody sends before their last answer
    has arrived. It ends after `sentences` rounds, however long they take.

    Args:
        url, process: the server, and the process that began it.
        people, sentences, every: see `CLASSES`.
        workers: see `Crowd`.
        texts: sentences that the server hasn't had.
    """
    texts = texts or english_sentences()
    with ExitStack() as open_pages:
        _warm(url, process, texts, workers)
        before = processor_seconds(process)
        visitors = [open_pages.enter_context(closing(Connection(url))) for _ in range(people)]
        for visitor in visitors:
            visitor.open()
        opened = processor_seconds(process)
        own = [list(islice(texts, sentences)) for _ in visitors]
        begin = time.monotonic()
        with ThreadPoolExecutor(people) as pool:
            starts = [begin + every * number / people for number in range(people)]
            waits = [
                wait for waits in pool.map(_work, visitors, own, starts, [every] * people) for wait in waits
            ]
        took = time.monotonic() - begin
        end = processor_seconds(process)
        memory = Bytes(sum(map(proportional, family(process))))
    return Crowd(
        workers=workers,
        people=people,
        every=Seconds(every),
        sentences=len(waits),
        per_second=PerSecond(len(waits) / took),
        median_wait=median_seconds(waits),
        wait_of_95_in_100=Seconds(sorted(waits)[len(waits) * 95 // 100]),
        processor_per_sentence=Seconds((end - opened) / len(waits)),
        model_per_sentence=_model_seconds([text for texts in own for text in texts]),
        processor_per_page_opened=Seconds((opened - before) / people),
        memory=memory,
    )


def english_sentences() -> Iterator[str]:
    """English sentences, the same in each run; the first 19,000 are all different."""
    return (" ".join(pair.source) for pair in ToyEnIt().pairs(1, held_out=False))


def _warm(url: str, process: int, texts: Iterator[str], workers: int) -> None:
    """Have a visitor in each process, and wait until it has computed what it prepares for its first one."""
    with ExitStack() as open_pages:
        for _ in range(max(workers, 1)):  # the proxy prefers the process with the fewest
            visitor = open_pages.enter_context(closing(Connection(url)))
            visitor.open()
            visitor.type(BOX, next(texts))
        deadline = time.monotonic() + _LONGEST_SECONDS
        time.sleep(3 * _QUIET_SECONDS)
        used, before = processor_seconds(process), 0.0
        while used - before > 0.1 * _QUIET_SECONDS and time.monotonic() < deadline:
            time.sleep(_QUIET_SECONDS)
            used, before = processor_seconds(process), used


def _work(visitor: Connection, texts: Sequence[str], start: float, every: float) -> list[float]:
    waits = []
    for number, text in enumerate(texts):
        time.sleep(max(0.0, start + number * every - time.monotonic()))
        waits.append(visitor.type(BOX, text))
    return waits


def _model_seconds(texts: Sequence[str]) -> Seconds:
    """The processor time per sentence of the model alone: the target is generated, and both are recorded."""
    model = open_saved(default_model(), torch.device("cpu"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    run_sentence(model, texts[0])
    started = time.process_time()
    for text in texts:
        run_sentence(model, text)
    used = time.process_time() - started
    torch.set_num_threads(threads)
    return Seconds(used / len(texts))
