"""Headlight in Chromium, from a key press or click to painted pictures, against BertViz's model_view."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice
from urllib.parse import urlencode

import torch
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
    hover,
    memory,
    painted,
    watched_page,
)
from bench.measurement import Bytes, Memory, Painted, Ratio, in_turn, median_painted, painted_ratio
from bench.peers.bertviz_page import BertvizView, bertviz_view
from bench.sentences import D_MODELS, LENGTHS, N_HEADS, N_LAYERS, random_model, sentence
from bench.setting import Setting
from scripts.browser import wait_until_idle
from transformer.analysis.attention_maps import attention_maps
from transformer.run import run_sentence
from viz.viewer.frames import MAX_BYTES

WORDS_OF = "toy-en-it"
"""The measured model uses this model's vocabulary of whole words, so that each word is one token."""
QUIET_MILLISECONDS = 500
"""After this long without a run, everything from the last one is on the screen."""
IS_ANY_PENDING = "views => views.some((view) => view.isPending?.())"
LOOK_MILLISECONDS = 20
ATTENTIONS = ("Encoder self-attention", "Decoder self-attention", "Cross-attention")
BOTH = (GRID, HEAD)


@dataclass(frozen=True)
class AppView:
    """Measurements for one sentence length in one model.

    Attributes:
        tokens: length of the source and of the target.
        d_model: width of the model.
        sentence: a new sentence, until all heads and the chosen one are painted; bytes by then.
        in_all: all bytes sent for a new sentence, including the rest of the page.
        attention: another attention, likewise; the browser already has it.
        head: another head of the same layer, until its map is painted large; the browser already has it.
        layer: another layer, likewise.
        fetched_head: one that the browser has to request, until its numbers are on the screen; None where it
            has them all.
        hover: over the chosen head.
        memory: of the browser's tab at the end.
        theirs: one attention of the same size in BertViz; None for models not compared with it.
        times_sooner: their time until painted, divided by ours for a new sentence.
    """

    tokens: int
    d_model: int
    sentence: Painted
    in_all: Bytes
    attention: Painted
    head: Painted
    layer: Painted
    fetched_head: Painted | None
    hover: Hover
    memory: Memory
    theirs: BertvizView | None
    times_sooner: Ratio | None


def measure(setting: Setting) -> list[AppView]:
    """Measure all sizes on one server, taking turns with BertViz for the first model."""
    rounds = 1 if setting.smallest else 6
    sizes = [(d_model, n_tokens) for d_model in D_MODELS for n_tokens in LENGTHS]
    views = []
    with setting.server() as (url, _):
        for d_model, n_tokens in [(D_MODELS[0], LENGTHS[0])] if setting.smallest else sizes:
            theirs = None
            if d_model == D_MODELS[0]:
                theirs = bertviz_view(setting, "model_view", *encoder_attention(n_tokens, d_model))
            with setting.browser() as browser:
                views.append(measure_app(browser, url, n_tokens, d_model, rounds, theirs))
    return views


def encoder_attention(n_tokens: int, d_model: int) -> tuple[torch.Tensor, list[str]]:
    """Attention weights (L, H, N, N) of the encoder, and N tokens."""
    run = run_sentence(random_model(d_model), sentence(n_tokens, 1), sentence(n_tokens, 2))
    weights = torch.from_numpy(attention_maps(run.trace, "encoder", "weights").values)
    return weights, list(run.trace.src_tokens[0])


def measure_app(
    browser: Browser,
    url: str,
    n_tokens: int,
    d_model: int,
    rounds: int,
    theirs: Callable[[], BertvizView] | None,
) -> AppView:
    """Open the app on a random model, submit sentences of one length, and choose in the viewer.

    The target is given and as long as the source, so that a run is one forward pass: a random model's own
    translation is of no interest.
    """
    page = watched_page(browser)
    sizes = {"enc": N_LAYERS, "dec": N_LAYERS, "heads": N_HEADS, "d_model": d_model}
    first = {
        "layer": N_LAYERS - 1,
        "head": 0,
    }  # far from the others; the most readable head may be one of them
    page.goto(f"{url}/?{urlencode({'model': 'random', 'vocabulary': WORDS_OF} | sizes | first)}")
    rest(page)
    source = page.get_by_role("textbox", name="English sentence")
    target = page.get_by_role("textbox", name="Italian sentence")
    submit(page, target, sentence(n_tokens, 0))
    submit(page, source, sentence(n_tokens, 1))
    texts = iter([sentence(n_tokens, 2 + seed) for seed in range(rounds)])
    answers, peers = in_turn(lambda: submit(page, source, next(texts)), [theirs] if theirs else [], rounds)
    ours = [painted(answer, BOTH) for answer in answers]
    far, heads, layers = [], [], []
    for layer, head in FAR[:rounds]:
        far.append(painted(choose(page, layer, head, lambda: rest(page)), (HEAD,)))
        heads.append(painted(choose(page, layer, head - 1, lambda: rest(page)), (HEAD,)))
        layers.append(painted(choose(page, layer + 1, head - 1, lambda: rest(page)), (HEAD,)))
    for name in ATTENTIONS:
        choose_attention(page, name)
    attentions = [painted(choose_attention(page, name), BOTH) for name in islice(cycle(ATTENTIONS), rounds)]
    in_all = [sum(size for _, size in answer["received"]) for answer in answers]
    view = AppView(
        tokens=n_tokens,
        d_model=d_model,
        sentence=median_painted(ours),
        in_all=Bytes(statistics.median_low(in_all)),
        attention=median_painted(attentions),
        head=median_painted(heads),
        layer=median_painted(layers),
        fetched_head=None if weight_bytes(n_tokens) <= MAX_BYTES else median_painted(far),
        hover=hover(page, [(i, i) for i in range(2 * rounds)]),
        memory=memory(browser, page),
        theirs=peers[0][-1] if peers else None,
        times_sooner=painted_ratio([peer.opened for peer in peers[0]], ours) if peers else None,
    )
    page.context.close()
    return view


def weight_bytes(n_tokens: int) -> int:
    """Bytes of the weights of all attentions in float32."""
    return 4 * len(ATTENTIONS) * N_LAYERS * N_HEADS * n_tokens**2


def submit(page: Page, box: Locator, text: str) -> Answer:
    """Put a sentence into a box and press Enter; return what the page then did."""
    box.fill(text)
    return act(page, lambda: box.press("Enter"), BOTH, lambda: rest(page))


def choose_attention(page: Page, attention: str) -> Answer:
    """Choose an attention; return what the page then did."""
    attentions = page.get_by_role("combobox", name="Which attention")

    def change() -> None:
        attentions.select_option(label=attention)

    return act(page, change, BOTH, lambda: rest(page))


def rest(page: Page) -> None:
    """Wait until the page is quiet and no view is waiting for anything."""
    wait_until_idle(page, LIMIT_MILLISECONDS, quiet=QUIET_MILLISECONDS)
    while page.locator(".hl").evaluate_all(IS_ANY_PENDING):
        page.wait_for_timeout(LOOK_MILLISECONDS)
    wait_until_idle(page, LIMIT_MILLISECONDS, quiet=QUIET_MILLISECONDS)
