"""Headlight itself in Chromium: from a key press or click to painted pictures, and the bytes sent for it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice
from urllib.parse import urlencode

from playwright.sync_api import Browser, Locator, Page

from bench.browser.watch import (
    FAR,
    GRID,
    HEAD,
    LIMIT_MILLISECONDS,
    Answer,
    Hover,
    act,
    choose,
    click,
    hover,
    median,
    memory,
    watched_page,
)
from bench.measurement import Memory, Painted
from bench.sentences import N_HEADS, N_LAYERS, sentence
from scripts.browser import wait_until_idle
from viz.viewer.frames import WHOLE

REPEATS = 5
"""Rounds of which the median counts; at most as many as there are places in FAR."""
WORDS_OF = "toy-en-it"
"""The model whose vocabulary the measured one has: of whole words, so that a word is a token."""
QUIET_MILLISECONDS = 500
"""After this long without a run, nothing of the last one is still on its way to the screen."""
ATTENTIONS = ("Encoder self-attention", "Decoder self-attention", "Cross-attention")
BOTH = (GRID, HEAD)


@dataclass(frozen=True)
class AppView:
    """One length in one model.

    Attributes:
        d_model: width of the model.
        sentence: a new sentence to all heads and the chosen one painted; bytes until then.
        attention: another attention, likewise; the browser holds it.
        head: another head of the same layer to its map painted large; the browser holds it.
        layer: another layer, likewise.
        fetched: a head that the browser has to ask for; None where it holds all of them.
        hover: over the chosen head.
        page_bytes: everything that a new sentence sends, the rest of the page included.
        memory: of the browser's tab in the end.
    """

    d_model: int
    sentence: Painted
    attention: Painted
    head: Painted
    layer: Painted
    fetched: Painted | None
    hover: Hover
    page_bytes: int
    memory: Memory


def measure_app(browser: Browser, url: str, n_tokens: int, d_model: int, repeats: int = REPEATS) -> AppView:
    """Open the app on a random model, submit sentences of one length, and choose in the viewer.

    The target is given, and as long as the source, so that a run is one forward: what a random model would
    write is of no interest.
    """
    page = watched_page(browser)
    sizes = {"enc": N_LAYERS, "dec": N_LAYERS, "heads": N_HEADS, "d_model": d_model}
    page.goto(f"{url}/?{urlencode({'model': 'random', 'vocabulary': WORDS_OF} | sizes)}")
    wait_until_idle(page)
    source = page.get_by_role("textbox", name="English sentence")
    target = page.get_by_role("textbox", name="Italian sentence")
    submit(page, target, sentence(n_tokens, 0))
    submit(page, source, sentence(n_tokens, 1))
    rounds = [submit(page, source, sentence(n_tokens, 2 + seed)) for seed in range(repeats)]
    far, heads, layers = [], [], []
    for layer, head in FAR[:repeats]:
        far.append(choose(page, layer, head, resting(page)))
        heads.append(choose(page, layer, head - 1, resting(page)))
        layers.append(choose(page, layer + 1, head - 1, resting(page)))
    for name in ATTENTIONS:
        press(page, name)
    attentions = [press(page, name) for name in islice(cycle(ATTENTIONS), repeats)]
    view = AppView(
        d_model=d_model,
        sentence=median(n_tokens, rounds, BOTH),
        attention=median(n_tokens, attentions, BOTH),
        head=median(n_tokens, heads, (HEAD,)),
        layer=median(n_tokens, layers, (HEAD,)),
        fetched=None if n_tokens <= WHOLE else median(n_tokens, far, (HEAD,)),
        hover=hover(page, [(i, i) for i in range(2 * repeats)]),
        page_bytes=statistics.median_low(sum(size for _, size in answer["received"]) for answer in rounds),
        memory=memory(browser, page),
    )
    page.context.close()
    return view


def submit(page: Page, box: Locator, text: str) -> Answer:
    """Put a sentence into a box and press Enter; return what the page then did."""
    box.fill(text)
    return act(page, lambda: box.press("Enter"), BOTH, resting(page))


def press(page: Page, attention: str) -> Answer:
    """Choose an attention; return what the page then did."""
    button = page.locator(".hl-attention").first.get_by_role("button", name=attention)
    button.hover()
    return act(page, lambda: click(page), BOTH, resting(page))


def resting(page: Page) -> Callable[[], None]:
    """What waits until the page is quiet."""
    return lambda: wait_until_idle(page, LIMIT_MILLISECONDS, quiet=QUIET_MILLISECONDS)
