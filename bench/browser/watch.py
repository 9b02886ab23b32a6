"""Watches a page with the viewer: when a user acts, when each picture is painted, what the server sends."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypedDict

from playwright.sync_api import Browser, Page, ViewportSize

from bench.measurement import Memory, Painted

LIMIT_MILLISECONDS = 60_000
VIEWPORT = ViewportSize(width=1600, height=1200)
GRID, HEAD, MARKS = "grid", "head", "head marks"
"""All heads; the chosen one; what marks a cell of that."""
FAR = [(0, 2), (2, 4), (4, 6), (1, 7), (3, 1)]
"""Layers and heads that are neither beside each other nor beside any that is chosen before them."""

# A picture begins by clearing its canvas, and draws what it is made of onto it; it is on the screen after the
# next frame.
WATCH = """
window.acted = window.heard = Infinity;
window.paints = [];
window.received = [];
const act = ({ timeStamp }) => {
  acted = timeStamp;
  heard = performance.now();
};
addEventListener("keydown", (event) => { if (event.key === "Enter") act(event); }, true);
for (const type of ["click", "pointermove"]) addEventListener(type, act, true);
const coming = new Set();
const note = (canvas) => {
  const part = canvas.closest(".hl-grid, .hl-main");
  if (!part) return;
  const marks = canvas.classList.contains("hl-overlay") ? " marks" : "";
  const name = (part.classList.contains("hl-grid") ? "grid" : "head") + marks;
  if (coming.has(name)) return;
  coming.add(name);
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      coming.delete(name);
      paints.push([name, performance.now()]);
    };
    channel.port2.postMessage(null);
  });
};
for (const method of ["reset", "drawImage"]) {
  const own = CanvasRenderingContext2D.prototype[method];
  CanvasRenderingContext2D.prototype[method] = function (...details) {
    note(this.canvas);
    return own.apply(this, details);
  };
}
window.WebSocket = class extends WebSocket {
  constructor(...details) {
    super(...details);
    this.addEventListener("message", ({ data }) => {
      received.push([performance.now(), data.byteLength ?? data.size ?? data.length]);
    });
  }
};
"""
# Whether pictures have been painted since the user acted, each not before the one that stands before it.
ARE_PAINTED = """
(names) => {
  let at = acted;
  for (const name of names) {
    const paint = paints.find(([own, time]) => own === name && time >= at && time > acted);
    if (!paint) return false;
    at = paint[1];
  }
  return true;
}
"""
MIDDLE_OF_MAP = """
(root, [layer, head]) => {
  const { left, top } = root.querySelector(".hl-grid .hl-stage").getBoundingClientRect();
  const [x, y] = root.state().middles[layer][head];
  return [left + x, top + y];
}
"""
MIDDLE_OF_CELL = """
(root, [query, key]) => {
  const { left, top } = root.querySelector(".hl-head .hl-box").getBoundingClientRect();
  const { cell, corner } = root.state().matrices[0];
  const [wide, tall] = [cell, cell].flat();
  return [left + corner[0] + (key + 0.5) * wide, top + corner[1] + (query + 0.5) * tall];
}
"""


class Answer(TypedDict):
    """What WATCH has seen: times in ms, and (time, bytes) of each message.

    `acted` is when the event says that it happened, `heard` when the page was told: a movement of the pointer
    waits for the next frame in between.
    """

    acted: float
    heard: float
    paints: list[tuple[str, float]]
    received: list[tuple[float, int]]


def watched_page(browser: Browser) -> Page:
    """An empty page in a context of its own, in which WATCH will run."""
    context = browser.new_context(viewport=VIEWPORT)
    context.set_default_timeout(LIMIT_MILLISECONDS)
    context.add_init_script(WATCH)
    return context.new_page()


def act(
    page: Page, action: Callable[[], None], pictures: tuple[str, ...], rest: Callable[[], None]
) -> Answer:
    """Do something, and wait until pictures have been painted for it, and then until all is quiet again."""
    page.evaluate("() => { received.length = paints.length = 0; acted = heard = Infinity; }")
    action()
    return seen(page, pictures, rest)


def seen(page: Page, pictures: tuple[str, ...], rest: Callable[[], None]) -> Answer:
    """Wait until pictures have been painted since the user acted, and then until all is quiet."""
    page.wait_for_function(ARE_PAINTED, arg=list(pictures))
    rest()
    answer: Answer = page.evaluate("({ acted, heard, paints, received })")
    return answer


def painted(answer: Answer, pictures: tuple[str, ...]) -> tuple[float, int]:
    """Seconds from the action to the first painting of all these pictures, and bytes received until then.

    They are painted in this order, or at once.
    """
    end = answer["acted"]
    for name in pictures:
        end = next(at for own, at in answer["paints"] if own == name and at >= end and at > answer["acted"])
    return (end - answer["acted"]) / 1000, sum(size for at, size in answer["received"] if at <= end)


def over(page: Page, place: str, at: tuple[int, int]) -> None:
    """Move the pointer over a place of the viewer, found by MIDDLE_OF_MAP or MIDDLE_OF_CELL."""
    page.mouse.move(*page.locator(".hl-attention").first.evaluate(place, list(at)))


def click(page: Page) -> None:
    """Click where the pointer is."""
    page.mouse.down()
    page.mouse.up()


@dataclass(frozen=True)
class Hover:
    """A movement over the chosen head, until the marks of the new cell are painted: medians, in seconds.

    Attributes:
        moved: from the movement. Chromium tells a page of movements once per frame, 16.7 ms apart.
        told: from when the page is told.
    """

    moved: float
    told: float


def hover(page: Page, cells: Sequence[tuple[int, int]]) -> Hover:
    """Move the pointer from cell to cell."""
    moved, told = [], []
    for cell in cells:
        answer = act(page, partial(over, page, MIDDLE_OF_CELL, cell), (MARKS,), lambda: None)
        seconds = painted(answer, (MARKS,))[0]
        moved.append(seconds)
        told.append(seconds - (answer["heard"] - answer["acted"]) / 1000)
    return Hover(statistics.median(moved), statistics.median(told))


def choose(page: Page, layer: int, head: int, rest: Callable[[], None]) -> Answer:
    """Click on a map of the grid; return what the page then did."""
    over(page, MIDDLE_OF_MAP, (layer, head))
    return act(page, lambda: click(page), (HEAD,), rest)


def median(n_tokens: int, answers: Sequence[Answer], pictures: tuple[str, ...]) -> Painted:
    """The round with the median time."""
    rounds = sorted(painted(answer, pictures) for answer in answers)
    seconds, size = rounds[len(rounds) // 2]
    return Painted(n_tokens, seconds, size)


def memory(browser: Browser, page: Page) -> Memory:
    """Measure the one tab of a browser."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")
    session.detach()
    heap = sum(used[name] for name in ("usedSize", "embedderHeapUsedSize", "backingStorageSize"))
    return Memory(round(heap), tab_bytes(browser))


def tab_bytes(browser: Browser) -> int:
    """The memory that the one tab of a browser has for itself.

    Raises:
        OSError: the system has no /proc (Linux alone has).
    """
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return max(private_bytes(one["id"]) for one in processes if one["type"] == "renderer")


def private_bytes(process: int) -> int:
    """The memory that a process shares with no other."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Private_"))
