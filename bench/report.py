"""The tables that `make bench` prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bench.browser.app_view import AppView
from bench.browser.crowd import Crowd
from bench.browser.first_page import FirstPage
from bench.computing import Computing
from bench.decoding import Decoding
from bench.measurement import Painted
from bench.opening import Opening
from bench.recording import Recorded
from bench.training import TrainingSpeed


def computing_table(rows: Sequence[Computing]) -> str:
    """What Python does, without a browser."""
    head = ("tokens", "d_model", "sentence to trace", "trace to grid", "", "trace to figure", "")
    cells = [
        (
            r.tokens,
            r.d_model,
            time(r.trace),
            time(r.grid),
            size(r.grid_bytes),
            time(r.figure),
            size(r.figure_bytes),
        )
        for r in rows
    ]
    return table("Python alone", head, cells)


def app_table(rows: Sequence[AppView]) -> str:
    """Headlight in Chromium."""
    head = ("tokens", "d_model", "new sentence", "sent for grid", "sent in all", "other head", "other layer")
    cells = [
        (
            r.sentence.tokens,
            r.d_model,
            time(r.sentence.seconds),
            size(r.sentence.bytes),
            size(r.page_bytes),
            time(r.head.seconds),
            time(r.layer.seconds),
        )
        for r in rows
    ]
    return table("Headlight in Chromium, from click to painted", head, cells)


def comparison_table(ours: Sequence[Painted], theirs: Sequence[Painted]) -> str:
    """The grid of all heads in Headlight and in BertViz."""
    head = ("tokens", "Headlight", "", "BertViz", "", "times faster", "times smaller")
    cells = []
    for our, their in zip(ours, theirs, strict=True):
        faster = f"{their.seconds / our.seconds:.0f}" if our.seconds and their.seconds else "-"
        shown = their.why or time(their.seconds)
        smaller = f"{their.bytes / our.bytes:.0f}"
        cells.append(
            (our.tokens, time(our.seconds), size(our.bytes), shown, size(their.bytes), faster, smaller)
        )
    return table("The grid of all heads, painted: Headlight beside BertViz", head, cells)


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


def table(title: str, head: Sequence[str], cells: Sequence[Sequence[object]]) -> str:
    """Lay out cells in columns, right-aligned, under a title."""
    rows = [[str(cell) for cell in row] for row in (head, *cells)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([title, "-" * len(title), *lines])


def time(seconds: float | None) -> str:
    """A time in ms or s."""
    if seconds is None:
        return "never"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def size(n_bytes: int) -> str:
    """A size in kB or MB (powers of ten)."""
    return f"{n_bytes / 1e3:.0f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"


TABLES: dict[str, Callable[[Any], str]] = {
    "opening": opening_table,
    "recording": recording_table,
    "computing": computing_table,
    "decoding": decoding_table,
    "training": training_table,
    "first_page": first_page_table,
    "crowd": crowd_table,
    "headlight": app_table,
}
"""By the name of what was measured, in the order in which they are printed."""
