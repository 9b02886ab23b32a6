"""Open one client-side view of the components app, read its state, and point at its parts."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page, WebSocket, expect

from viz.components.client_view import JSON

APP = Path(__file__).parent / "apps" / "components_app.py"


class Traffic:
    """Counts what a page sends to the server and how many bytes it receives."""

    def __init__(self, page: Page) -> None:
        self.sent = 0
        self.received = 0
        page.on("websocket", self._watch)

    def _watch(self, socket: WebSocket) -> None:
        socket.on("framesent", lambda _: self._count(sent=1))
        socket.on("framereceived", lambda payload: self._count(received=len(payload)))

    def _count(self, sent: int = 0, received: int = 0) -> None:
        self.sent += sent
        self.received += received


def open_view(page: Page, url: str, name: str, options: str = "") -> Locator:
    """Open one view and wait until it has drawn itself and the page is at rest."""
    page.goto(f"{url}/?view={name}&{options}")
    view = page.locator(".hl")
    expect(view.locator("canvas, [role=list], [role=listbox]").first).to_be_visible()
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    return view


def state(view: Locator, expression: str) -> JSON:
    return view.evaluate(f"root => {{ const view = root.view; return {expression}; }}")


def move_to(page: Page, over: Locator, x: float, y: float) -> None:
    box = over.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + x, box["y"] + y)


def at_cell(page: Page, view: Locator, query: int, key: int) -> None:
    """Move the pointer over a cell of the matrix, wherever it has been scrolled to."""
    place = state(
        view,
        f"""[view.axes.left + ({key} + 0.5) * view.axes.cell - view.box.scrollLeft,
             view.axes.top + ({query} + 0.5) * view.axes.cell - view.box.scrollTop]""",
    )
    move_to(page, view.locator(".hl-box"), *place)


def at_map(page: Page, view: Locator, layer: int, head: int) -> None:
    place = state(view, f"view.corner({layer}, {head}).map((edge, i) => edge + view.box[i] / 2)")
    move_to(page, view.locator(".hl-stage"), *place)


def ink(canvas: Locator) -> int:
    """Count the pixels of a canvas that are neither transparent nor white."""
    return int(
        canvas.evaluate(
            """canvas => {
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let n = 0;
            for (let i = 0; i < data.length; i += 4) {
                if (data[i + 3] && data[i] + data[i + 1] + data[i + 2] < 750) n++;
            }
            return n; }"""
        )
    )
