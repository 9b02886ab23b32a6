"""Headlight itself in Chromium: from a key press or click to the painted grid, and the bytes sent for it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict
from urllib.parse import urlencode

from playwright.sync_api import Browser, Locator, Page, ViewportSize

from bench.measurement import Painted
from bench.sentences import N_HEADS, N_LAYERS, sentence
from scripts.browser import wait_until_idle

REPEATS = 5
"""Rounds of which the median counts; at most one fewer than there are layers, and than there are heads."""
WORDS_OF = "toy-en-it"
"""The model whose vocabulary the measured one has: of whole words, so that a word is a token."""
LIMIT_MILLISECONDS = 60_000
QUIET_MILLISECONDS = 300
"""After this long without a run, nothing of the last one is still on its way to the screen."""
VIEWPORT = ViewportSize(width=1600, height=1200)
GRID, MATRIX = "attention_grid", "attention_matrix"

# In the page: when a user last acted, when each view was last painted, and every message from the server.
# A view draws by drawImage onto its own canvas; it is on the screen after the next frame.
WATCH = """
window.acted = 0;
window.painted = {};
window.received = [];
addEventListener("keydown", (event) => { if (event.key === "Enter") acted = performance.now(); }, true);
addEventListener("pointerdown", () => { acted = performance.now(); }, true);
const drawImage = CanvasRenderingContext2D.prototype.drawImage;
CanvasRenderingContext2D.prototype.drawImage = function (...details) {
  const view = this.canvas.closest("[class*='hl-attention']");
  if (view) {
    const name = [...view.classList].find((name) => name.startsWith("hl-attention")).slice(3);
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => { painted[name] = performance.now(); };
      channel.port2.postMessage(null);
    });
  }
  return drawImage.apply(this, details);
};
window.WebSocket = class extends WebSocket {
  constructor(...details) {
    super(...details);
    this.addEventListener("message", ({ data }) => {
      received.push([performance.now(), data.byteLength ?? data.size ?? data.length]);
    });
  }
};
"""


# The middle of a map of the grid, in pixels of the window.
MIDDLE_OF_MAP = """
(root, [layer, head]) => {
  root.scrollIntoView({ block: "center" });
  const { left, top } = root.querySelector("canvas").getBoundingClientRect();
  const [x, y] = root.state().middles[layer][head];
  return [left + x, top + y];
}
"""


class Answer(TypedDict):
    """What WATCH has seen: times in ms, and (time, bytes) of each message."""

    acted: float
    painted: dict[str, float]
    received: list[tuple[float, int]]


@dataclass(frozen=True)
class AppView:
    """One length in one model.

    Attributes:
        d_model: width of the model.
        sentence: a new sentence to the whole grid painted; bytes until then.
        head: another head chosen in the grid to its map painted large.
        layer: another layer, likewise.
        page_bytes: everything that a new sentence sends, the rest of the page included.
    """

    d_model: int
    sentence: Painted
    head: Painted
    layer: Painted
    page_bytes: int


def measure_app(browser: Browser, url: str, n_tokens: int, d_model: int, repeats: int = REPEATS) -> AppView:
    """Open the app on a random model, submit sentences of one length, and click in the grid.

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
    heads = [choose(page, 0, head) for head in range(1, 1 + repeats)]
    layers = [choose(page, layer, repeats) for layer in range(1, 1 + repeats)]
    page.context.close()
    return AppView(
        d_model=d_model,
        sentence=median(n_tokens, [painted(answer, GRID) for answer in rounds]),
        head=median(n_tokens, [painted(answer, MATRIX) for answer in heads]),
        layer=median(n_tokens, [painted(answer, MATRIX) for answer in layers]),
        page_bytes=statistics.median_low(sum(size for _, size in answer["received"]) for answer in rounds),
    )


def watched_page(browser: Browser) -> Page:
    """An empty page in a context of its own, in which WATCH will run."""
    context = browser.new_context(viewport=VIEWPORT)
    context.add_init_script(WATCH)
    return context.new_page()


def submit(page: Page, box: Locator, text: str) -> Answer:
    """Put a sentence into a box and press Enter; return what the page then did."""
    box.fill(text)
    return act(page, lambda: box.press("Enter"), GRID)


def choose(page: Page, layer: int, head: int) -> Answer:
    """Click on a map of the grid; return what the page then did."""
    x, y = page.locator(f".hl-{GRID}").first.evaluate(MIDDLE_OF_MAP, [layer, head])
    return act(page, lambda: page.mouse.click(x, y), MATRIX)


def act(page: Page, action: Callable[[], None], view: str) -> Answer:
    """Do something, and wait until a view has been painted for it and all is quiet again."""
    page.evaluate("received.length = 0")
    action()
    page.wait_for_function("(view) => painted[view] > acted", arg=view, timeout=LIMIT_MILLISECONDS)
    wait_until_idle(page, LIMIT_MILLISECONDS, quiet=QUIET_MILLISECONDS)
    answer: Answer = page.evaluate("({ acted, painted, received })")
    return answer


def painted(answer: Answer, view: str) -> tuple[float, int]:
    """Seconds from the action to the view's last painting, and bytes received until then."""
    end = answer["painted"][view]
    return (end - answer["acted"]) / 1000, sum(size for at, size in answer["received"] if at <= end)


def median(n_tokens: int, rounds: list[tuple[float, int]]) -> Painted:
    """The round with the median time."""
    seconds, size = sorted(rounds)[len(rounds) // 2]
    return Painted(n_tokens, seconds, size)
