"""The tables of the viewer: in the app, in a page of its own, beside BertViz, and beside its targets."""

from __future__ import annotations

from collections.abc import Sequence

from bench.browser.app_view import AppView
from bench.browser.shown_attention import Shown
from bench.measurement import BertvizView, Painted
from bench.table import size, table, time
from bench.targets import Target, beside, smaller, sooner

_SINCE = ("fetched", "hover", "told", "arrays", "tab")
"""What is measured of the viewer in the app and in a page of its own, once it is painted."""


def _since(view: AppView | Shown) -> tuple[str, ...]:
    fetched = time(view.fetched.seconds) if view.fetched else "-"
    hover, memory = view.hover, view.memory
    return fetched, time(hover.moved), time(hover.told), size(memory.heap), size(memory.tab)


def app_table(rows: Sequence[AppView]) -> str:
    """Headlight in Chromium."""
    head = (
        "tokens",
        "d_model",
        "new sentence",
        "sent for it",
        "sent in all",
        "attention",
        "head",
        "layer",
        *_SINCE,
    )
    cells = [
        (
            r.sentence.tokens,
            r.d_model,
            time(r.sentence.seconds),
            size(r.sentence.bytes),
            size(r.page_bytes),
            time(r.attention.seconds),
            time(r.head.seconds),
            time(r.layer.seconds),
            *_since(r),
        )
        for r in rows
    ]
    return table("Headlight in Chromium, from click to painted", head, cells)


def shown_table(rows: Sequence[Shown]) -> str:
    """The viewer in a page of its own."""
    head = (
        "heads",
        "tokens",
        "as in the",
        "painted",
        "sent for it",
        "sent in all",
        "script",
        "head",
        *_SINCE,
    )
    cells = [
        (
            f"{r.layers} x {r.heads}",
            r.opened.tokens,
            r.place,
            time(r.opened.seconds),
            size(r.opened.bytes),
            size(r.page_bytes),
            size(r.script_bytes),
            time(r.head.seconds),
            *_since(r),
        )
        for r in rows
    ]
    return table("Any attention in a page of its own, from the call in Python to painted", head, cells)


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


def notebook_table(ours: Sequence[Shown], theirs: Sequence[BertvizView]) -> str:
    """`show_attention` beside BertViz's views, on the same tensors."""
    head = (
        "heads",
        "tokens",
        "Headlight",
        "",
        "tab",
        "BertViz",
        "",
        "",
        "tab",
        "times sooner",
        "times smaller",
    )
    cells = []
    for our, their in beside(ours, theirs):
        times = sooner(our, their)
        cells.append(
            (
                f"{our.layers} x {our.heads}",
                our.opened.tokens,
                time(our.opened.seconds),
                size(our.page_bytes),
                size(our.memory.tab),
                their.view,
                their.opened.why or time(their.opened.seconds),
                size(their.opened.bytes),
                size(their.memory.tab) if their.memory else "-",
                f"{times:.0f}" if times else "-",
                f"{smaller(our, their):.0f}",
            )
        )
    return table("show_attention beside BertViz, from the call in Python to painted", head, cells)


def targets_table(rows: Sequence[Target]) -> str:
    """What is to be reached, and what is."""
    cells = []
    for r in rows:
        if r.is_ratio:
            limit = f"{r.limit:.0f} times"
            measured = "not painted" if r.measured is None else f"{r.measured:.0f} times"
        else:
            limit, measured = time(r.limit), time(r.measured)
        cells.append((r.name, limit, measured, "" if r.is_met else "missed"))
    return table("Targets", ("", "target", "measured", ""), cells)
