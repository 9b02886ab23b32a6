"""`headlight.show_attention` on any tensors, and the viewer as the app feeds it: from the call to painted."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

import torch
from playwright.sync_api import Browser, Page

import headlight
from bench.browser.bare_page import SCRIPT, bare_page, rest
from bench.browser.watch import (
    FAR,
    GRID,
    HEAD,
    Answer,
    Hover,
    choose,
    hover,
    median,
    memory,
    painted,
)
from bench.measurement import Memory, Painted
from headlight.foreign import hold_single
from viz.theme import palette
from viz.viewer.choice import first_choice
from viz.viewer.frames import run_frame, update_frame

REPEATS = 5
"""Rounds of which the median counts; at most as many as there are places in FAR."""


@dataclass(frozen=True)
class Shown:
    """One attention in one place.

    Attributes:
        place: "notebook" for `show_attention`, "app" where all weights are sent at once, as the app does
            it up to 64 tokens.
        layers, heads: how many.
        opened: from the call in Python to all heads and the chosen one painted; bytes sent until then,
            the script apart.
        script_bytes: of the viewer's script, which `opened` has loaded too.
        page_bytes: everything sent until the page is at rest, the script apart: with heads near the
            chosen one, which the browser asks for by itself.
        head: another head that the browser holds, from the click to painted.
        fetched: a head that it has to ask for; None where it holds all.
        hover: over the chosen head.
        memory: of the tab in the end.
    """

    place: str
    layers: int
    heads: int
    opened: Painted
    script_bytes: int
    page_bytes: int
    head: Painted
    fetched: Painted | None
    hover: Hover
    memory: Memory


def measure_notebook(
    browser: Browser, weights: torch.Tensor, tokens: list[str], repeats: int = REPEATS
) -> Shown:
    """Measure `show_attention` of weights (L, H, N, N)."""
    show = headlight.show_attention  # what it imports is loaded by now, as BertViz is
    started = time.perf_counter()
    widget = show(list(weights.unsqueeze(1)), tokens, layer=0, head=0)
    made = time.perf_counter() - started
    held = hold_single(list(weights), tokens, None)
    pieces = partial(update_frame, held, None)
    with bare_page(browser, widget.frame, widget.choice, pieces) as (page, opened):
        return _measured(browser, page, "notebook", weights, made, opened, repeats)


def measure_all_at_once(
    browser: Browser, weights: torch.Tensor, tokens: list[str], repeats: int = REPEATS
) -> Shown:
    """Measure the viewer when it is sent all weights (L, H, N, N) at once."""
    started = time.perf_counter()
    held = hold_single(list(weights), tokens, None)
    frame = run_frame(held, palette("light"))
    choice = replace(first_choice(held), layer=0, head=0).data()
    made = time.perf_counter() - started
    pieces = partial(update_frame, held, None)
    with bare_page(browser, frame, choice, pieces) as (page, opened):
        return _measured(browser, page, "app", weights, made, opened, repeats)


def _measured(
    browser: Browser,
    page: Page,
    place: str,
    weights: torch.Tensor,
    made: float,
    opened: Answer,
    repeats: int,
) -> Shown:
    n_tokens = weights.shape[-1]
    seconds, n_bytes = painted(opened, (GRID, HEAD))
    quiet = partial(rest, page)
    far, near = [], []
    for layer, head in FAR[:repeats]:
        far.append(choose(page, layer, head, quiet))
        near.append(choose(page, layer, head - 1, quiet))
    has_all = not any(answer["received"] for answer in far)
    return Shown(
        place=place,
        layers=weights.shape[0],
        heads=weights.shape[1],
        opened=Painted(n_tokens, made + seconds, n_bytes),
        script_bytes=len(SCRIPT),
        page_bytes=sum(size for _, size in opened["received"]),
        head=median(n_tokens, near, (HEAD,)),
        fetched=None if has_all else median(n_tokens, far, (HEAD,)),
        hover=hover(page, [(i, i) for i in range(2 * repeats)]),
        memory=memory(browser, page),
    )
