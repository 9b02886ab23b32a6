"""Any attention in a page of its own: `show_attention` against BertViz, and the viewer with all weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import torch
from playwright.sync_api import Browser, Page

import headlight
from bench.browser.bare_page import SCRIPT, bare_page, rest
from bench.browser.watch import FAR, GRID, HEAD, Answer, Hover, choose, hover, memory, painted
from bench.measurement import Bytes, Memory, Painted, Ratio, Seconds, in_turn, median_painted, painted_ratio
from bench.parts.app import encoder_attention
from bench.peers.bertviz_page import BertvizView, ViewName, bertviz_view
from bench.sentences import D_MODELS, random_attention
from bench.setting import Setting
from headlight.foreign.views import view_single
from viz.theme import palette
from viz.viewer.choice import default_choice
from viz.viewer.frames import MAX_SHORT, run_frame, update_frame, weight_pieces

VIEWS: tuple[ViewName, ...] = ("model_view", "head_view")
LENGTHS = (64, 256)
LARGE = ((12, 12), (24, 16))
"""Layers and heads of BERT's base and large models."""


class Attention(NamedTuple):
    """Weights (L, H, N, N) of N tokens."""

    weights: torch.Tensor
    tokens: list[str]


@dataclass(frozen=True)
class Shown:
    """Measurements of one attention in one place.

    Attributes:
        layers, heads: number of each.
        tokens: number of tokens in the text.
        place: "notebook" for `show_attention`, "all at once" for the same viewer sent with all weights.
        opened: from the call in Python until all heads and the chosen one are painted; bytes sent by then,
            without the script.
        in_all: bytes sent until the page is at rest, without the script: includes the heads near the chosen
            one, which the browser requests unprompted.
        script: size of the viewer's script; the time in `opened` includes loading it.
        head: another head that the browser already has, from click to paint.
        fetched_head: one that it has to request; None where it has them all.
        hover: over the chosen head.
        memory: of the tab at the end.
        model_view, head_view: the same tensors in BertViz; None for the viewer with all.
        sooner, sooner_than_head_view: time of their view divided by ours, until painted.
    """

    layers: int
    heads: int
    tokens: int
    place: str
    opened: Painted
    in_all: Bytes
    script: Bytes
    head: Painted
    fetched_head: Painted | None
    hover: Hover
    memory: Memory
    model_view: BertvizView | None = None
    sooner: Ratio | None = None
    head_view: BertvizView | None = None
    sooner_than_head_view: Ratio | None = None


class Opened(NamedTuple):
    """A viewer in a page of its own, at rest."""

    page: Page
    painted: Painted
    in_all: Bytes


Open = Callable[[Browser, Attention], AbstractContextManager[Opened]]


def measure(setting: Setting) -> list[Shown]:
    """Measure both places on the same tensors."""
    if setting.smallest:
        given = [Attention(*random_attention(6, 8, 40))]
    else:
        given = [Attention(*encoder_attention(n_tokens, D_MODELS[0])) for n_tokens in LENGTHS]
        given += [Attention(*random_attention(*sizes, LENGTHS[0])) for sizes in LARGE]
    shown = []
    for attention in given:
        shown.append(measure_notebook(setting, attention))
        if len(attention.tokens) <= MAX_SHORT:
            shown.append(measure_viewer(setting, "all at once", open_with_all, attention))
    return shown


def measure_notebook(setting: Setting, attention: Attention) -> Shown:
    """Measure `show_attention`, taking turns with BertViz's views."""

    def open_ours() -> Painted:
        with setting.browser() as browser, open_as_notebook(browser, attention) as opened:
            return opened.painted

    peers = [bertviz_view(setting, view, *attention) for view in VIEWS]
    ours, [model, head] = in_turn(open_ours, peers, rounds=1 if setting.smallest else 4)
    return replace(
        measure_viewer(setting, "notebook", open_as_notebook, attention),
        opened=median_painted(ours),
        model_view=model[-1],
        sooner=painted_ratio([view.opened for view in model], ours),
        head_view=head[-1],
        sooner_than_head_view=painted_ratio([view.opened for view in head], ours),
    )


def measure_viewer(setting: Setting, place: str, open_viewer: Open, attention: Attention) -> Shown:
    """Open the viewer once, then choose heads in it."""
    rounds = 1 if setting.smallest else 5
    layers, heads, n_tokens, _ = attention.weights.shape
    with setting.browser() as browser, open_viewer(browser, attention) as opened:
        page = opened.page
        far, near = [], []
        for layer, head in FAR[:rounds]:
            far.append(choose(page, layer, head, partial(rest, page)))
            near.append(choose(page, layer, head - 1, partial(rest, page)))
        has_all = not any(answer["received"] for answer in far)
        return Shown(
            layers=layers,
            heads=heads,
            tokens=n_tokens,
            place=place,
            opened=opened.painted,
            in_all=opened.in_all,
            script=Bytes(len(SCRIPT)),
            head=median_painted([painted(answer, (HEAD,)) for answer in near]),
            fetched_head=None if has_all else median_painted([painted(answer, (HEAD,)) for answer in far]),
            hover=hover(page, [(i, i) for i in range(2 * rounds)]),
            memory=memory(browser, page),
        )


@contextmanager
def open_as_notebook(browser: Browser, attention: Attention) -> Iterator[Opened]:
    """Open the widget that `show_attention` returns."""
    show = headlight.show_attention  # its imports are loaded by now, like BertViz
    started = time.perf_counter()
    widget = show(list(attention.weights.unsqueeze(1)), attention.tokens, layer=0, head=0)
    made = time.perf_counter() - started
    held = view_single(list(attention.weights), attention.tokens, None)
    with bare_page(browser, widget.frame, widget.choice, partial(update_frame, held, None)) as (page, answer):
        yield _opened(page, answer, made)


@contextmanager
def open_with_all(browser: Browser, attention: Attention) -> Iterator[Opened]:
    """Open the viewer with all weights at once."""
    started = time.perf_counter()
    held = view_single(list(attention.weights), attention.tokens, None)
    frame = run_frame(held, palette("light"), pieces=weight_pieces(held))
    choice = replace(default_choice(held), layer=0, head=0).data()
    made = time.perf_counter() - started
    with bare_page(browser, frame, choice, partial(update_frame, held, None)) as (page, answer):
        yield _opened(page, answer, made)


def _opened(page: Page, answer: Answer, made: float) -> Opened:
    shown = painted(answer, (GRID, HEAD))
    shown = replace(shown, seconds=Seconds(made + (shown.seconds or 0)))
    return Opened(page, shown, Bytes(sum(size for _, size in answer["received"])))
