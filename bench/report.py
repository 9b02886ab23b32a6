"""The tables that `make bench` prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bench.browser.crowd import Crowd
from bench.browser.first_page import FirstPage
from bench.computing import Computing
from bench.decoding import Decoding
from bench.inspecting import Inspecting
from bench.opening import Opening
from bench.recording import Recorded
from bench.table import size, table, time
from bench.training import TrainingSpeed
from bench.viewer_report import app_table, shown_table


def computing_table(rows: Sequence[Computing]) -> str:
    """What Python does, without a browser."""
    head = ("tokens", "d_model", "sentence to trace", "trace to viewer", "", "trace to figure", "")
    cells = [
        (
            r.tokens,
            r.d_model,
            time(r.trace),
            time(r.viewer),
            size(r.viewer_bytes),
            time(r.figure),
            size(r.figure_bytes),
        )
        for r in rows
    ]
    return table("Python alone", head, cells)


def decoding_table(rows: Sequence[Decoding]) -> str:
    """Our decoding beside `generate`."""
    head = ("beam", "Headlight", "transformers", "times faster", "same targets")
    cells = [
        (
            "greedy" if r.beam_size == 1 else r.beam_size,
            f"{r.ours:.0f}/s",
            f"{r.theirs:.0f}/s",
            f"{r.ours / r.theirs:.2f}",
            f"{r.same} of {r.sentences}",
        )
        for r in rows
    ]
    return table("Sentences decoded a second, the same weights in MarianMTModel", head, cells)


def training_table(rows: Sequence[TrainingSpeed]) -> str:
    """Our training beside others'."""
    head = ("precision", "trainer", "tokens", "Headlight is faster by")
    cells = [
        (
            r.precision,
            r.name,
            f"{r.tokens_per_second:,.0f}/s",
            "" if r.name == rows[0].name else f"{r.times_ours:.2f}",
        )
        for r in rows
    ]
    return table("Target tokens learnt a second, by the same updates of equal models", head, cells)


def opening_table(rows: Sequence[Opening]) -> str:
    """Our opening beside `from_pretrained`."""
    head = (
        "",
        "opened",
        "one sentence run",
        "whole process",
        "memory before",
        "at its peak",
        "times the model",
    )
    cells = [
        (
            r.name,
            time(r.seconds),
            time(r.first_run),
            time(r.process),
            size(r.before_bytes),
            size(r.peak_bytes),
            f"{r.times_size:.2f}",
        )
        for r in rows
    ]
    return table(f"Opening a Marian folder of {size(rows[0].model_bytes)}", head, cells)


def inspecting_table(rows: Sequence[Inspecting]) -> str:
    """The commands that look at a checkpoint without its numbers."""
    cells = [(r.name, time(r.seconds), f"{r.times_torch:.2f}") for r in rows]
    return table("From the command to its answer", ("", "whole process", "times torch's import"), cells)


def recording_table(rows: Sequence[Recorded]) -> str:
    """Our recorded forward beside transformers' eager one."""
    head = (
        "tokens",
        "d_model",
        "Headlight",
        "tensors",
        "transformers",
        "tensors",
        "times faster",
        "difference",
    )
    cells = [
        (
            r.tokens,
            r.d_model,
            time(r.ours),
            r.tensors,
            time(r.theirs),
            r.their_tensors,
            f"{r.theirs / r.ours:.2f}",
            f"{r.difference:.0e}",
        )
        for r in rows
    ]
    return table("Forward with everything recorded, the same weights in MarianMTModel (eager)", head, cells)


def first_page_table(rows: Sequence[FirstPage]) -> str:
    """Opening the app."""
    cells = [(r.visitor, time(r.frame), time(r.usable)) for r in rows]
    return table("Opening the page as soon as the server answers", ("visitor", "frame", "usable page"), cells)


def crowd_table(rows: Sequence[Crowd]) -> str:
    """A class at work."""
    head = ("people", "sentences", "median wait", "95 of 100", "processor, a sentence", "a page opened")
    cells = [
        (r.people, r.sentences, time(r.median), time(r.slow), time(r.processor), time(r.opening))
        for r in rows
    ]
    return table("A class: each user sends a new sentence every few seconds", head, cells)


TABLES: dict[str, Callable[[Any], str]] = {
    "inspecting": inspecting_table,
    "opening": opening_table,
    "recording": recording_table,
    "computing": computing_table,
    "decoding": decoding_table,
    "training": training_table,
    "first_page": first_page_table,
    "crowd": crowd_table,
    "headlight": app_table,
    "shown": shown_table,
}
"""By the name of what was measured, in the order in which they are printed."""
