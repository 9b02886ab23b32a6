"""Watches a page with the viewer: when the user acts, when each picture is painted, what the server sends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypedDict

from playwright.sync_api import Browser, Page, ViewportSize

from bench.measurement import Bytes, Memory, Painted, Seconds, median_seconds

LIMIT_MILLISECONDS = 60_000
VIEWPORT = ViewportSize(width=1600, height=1200)
GRID, HEAD, MARKS = "grid", "head", "head marks"
"""All heads; the chosen one; the marks on its hovered cell."""
FAR = [(0, 2), (2, 4), (4, 6), (1, 7), (3, 1)]
"""Layers and heads, none of them next to one chosen earlier."""

# To paint a picture, the viewer clears its canvas and draws on it; the next frame shows it.
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
addEventListener("input", (event) => { if (event.composedPath()[0].matches("select")) act(event); }, true);
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
# True once all these pictures have been painted since the user acted, in any order.
ARE_PAINTED = """
(names) => names.every((name) => paints.some(([own, at]) => own === name && at > acted))
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
    """What WATCH recorded: times in ms, and (time, bytes) of each message.

    `acted` is the event's own time stamp, `heard` the time when the page received it: Chromium delivers
    pointer movements with the next frame.
    """

    acted: float
    heard: float
    paints: list[tuple[str, float]]
    received: list[tuple[float, int]]


def watched_page(browser: Browser) -> Page:
    """An empty page in its own context, set up to run WATCH."""
    context = browser.new_context(viewport=VIEWPORT)
    context.set_default_timeout(LIMIT_MILLISECONDS)
    context.add_init_script(WATCH)
    return context.new_page()


def act(
    page: Page, action: Callable[[], None], pictures: tuple[str, ...], rest: Callable[[], None]
) -> Answer:
    """Act, then wait until the pictures have been painted and the page is at rest."""
    page.evaluate("() => { received.length = paints.length = 0; acted = heard = Infinity; }")
    action()
    return seen(page, pictures, rest)


def seen(page: Page, pictures: tuple[str, ...], rest: Callable[[], None]) -> Answer:
    """Wait until the pictures have been painted since the user acted and the page is at rest."""
    page.wait_for_function(ARE_PAINTED, arg=list(pictures))
    rest()
    answer: Answer = page.evaluate("({ acted, heard, paints, received })")
    return answer


def painted(answer: Answer, pictures: tuple[str, ...]) -> Painted:
    """The time from the action to the last change of these pictures, and the bytes received by then.

    The last change counts: a picture may be painted first with what the browser has, and again when the
    rest arrives. An unchanged picture is not repainted.
    """
    end = max(at for own, at in answer["paints"] if own in pictures)
    received = sum(size for at, size in answer["received"] if at <= end)
    return Painted(Seconds((end - answer["acted"]) / 1000), Bytes(received))


def over(page: Page, place: str, at: tuple[int, int]) -> None:
    """Move the pointer to a place in the viewer, located by MIDDLE_OF_MAP or MIDDLE_OF_CELL."""
    page.mouse.move(*page.locator(".hl-attention").first.evaluate(place, list(at)))


def click(page: Page) -> None:
    """Click where the pointer is."""
    page.mouse.down()
    page.mouse.up()


@dataclass(frozen=True)
class Hover:
    """Median times until the marks of a newly hovered cell of the chosen head are painted.

    Attributes:
        moved: from the pointer movement, which Chromium delivers once per frame (every 16.7 ms).
        told: from the event's arrival in the page.
    """

    moved: Seconds
    told: Seconds

    def __str__(self) -> str:
        return f"{self.moved} ({self.told})"


def hover(page: Page, cells: Sequence[tuple[int, int]]) -> Hover:
    """Move the pointer from cell to cell."""
    moved, told = [], []
    for cell in cells:
        answer = act(page, partial(over, page, MIDDLE_OF_CELL, cell), (MARKS,), lambda: None)
        end = next(at for name, at in answer["paints"] if name == MARKS)
        moved.append((end - answer["acted"]) / 1000)
        told.append((end - answer["heard"]) / 1000)
    return Hover(median_seconds(moved), median_seconds(told))


def choose(page: Page, layer: int, head: int, rest: Callable[[], None]) -> Answer:
    """Click on a map in the grid; return what the page then did."""
    over(page, MIDDLE_OF_MAP, (layer, head))
    return act(page, lambda: click(page), (HEAD,), rest)


def memory(browser: Browser, page: Page) -> Memory:
    """Measure the memory of a browser's only tab."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")
    session.detach()
    heap = sum(used[name] for name in ("usedSize", "embedderHeapUsedSize", "backingStorageSize"))
    return Memory(Bytes(round(heap)), Bytes(tab_bytes(browser)))


def tab_bytes(browser: Browser) -> int:
    """The private memory of a browser's only tab, in bytes.

    Raises:
        OSError: the system has no /proc (only Linux has).
    """
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return max(private_bytes(one["id"]) for one in processes if one["type"] == "renderer")


def private_bytes(process: int) -> int:
    """The bytes of memory that a process shares with no other."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Private_"))
