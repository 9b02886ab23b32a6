"""Open one client-side view in the tests' app, read its state, and point at its parts."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from playwright.sync_api import Locator, Page, WebSocket, expect

from tests.browser.headlight import is_telling, settle
from viz.components.shared.client_view import JSON

APPS = Path(__file__).parents[1] / "apps"


class Traffic:
    """Counts the messages that a page sends to the server, and the bytes that it receives."""

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


CALLS = count()
"""Makes each request unique, even for the same view."""


def open_view(page: Page, url: str, name: str, options: str = "") -> Locator:
    """Open one view in the tests' app, and wait until it is drawn and the page is idle."""
    if not page.url.startswith(url):
        page.goto(url)
    earlier = page.locator(".hl")
    if is_telling(earlier):
        settle(page)  # Streamlit may merge two simultaneous reports and ignore what is typed.
    earlier.evaluate_all("views => views.forEach((view) => view.classList.add('earlier'))")
    asked = f"view={name}&call={next(CALLS)}&{options}"
    box = page.get_by_role("textbox", name="View and options")
    box.fill(asked)
    box.press("Enter")
    expect(page.get_by_text(f"shown: {asked}", exact=True)).to_be_attached()
    view = page.locator(".hl:not(.earlier)")
    drawn = "svg, canvas, [role=list], [role=listbox], .board table, .board [role=group]"
    expect(view.locator(drawn).filter(visible=True).first).to_be_visible()
    settle(page)
    return view


def check_fits(view: Locator, width: int) -> None:
    """Check that the whole view fits a window of this width."""
    box = view.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width
    assert view.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert view.evaluate("root => root.scrollWidth <= root.clientWidth")


def check_reachable(view: Locator) -> None:
    """Check that the keyboard reaches each part of a view and that each has an accessible name."""
    stages = view.locator("[tabindex='0'][role]").filter(visible=True).all()
    assert stages
    for stage in stages:
        stage.focus()
        assert stage.evaluate("node => node.getRootNode().activeElement === node")
        assert stage.get_attribute("aria-label")


def state(view: Locator) -> dict[str, JSON]:
    """State that a view exposes to tests, where the document does not show it."""
    told: dict[str, JSON] = view.evaluate("root => root.state()")
    return told


def nodes(view: Locator, kind: str) -> Locator:
    return view.locator(f"g.node.{kind}")


def node_number(node: Locator) -> int:
    """Index of a node in the search."""
    return int(node.get_attribute("data-node") or "")


def chosen_node(view: Locator) -> int:
    return node_number(nodes(view, "chosen"))


def move_to(page: Page, over: Locator, x: float, y: float) -> None:
    box = over.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + x, box["y"] + y)


def press(view: Locator, name: str) -> None:
    """Press a button of the viewer, wherever there is room for it."""
    unfolded(view.get_by_role("button", name=name, exact=True, include_hidden=True)).click()


def choose(view: Locator, name: str, option: str) -> None:
    """Choose a value, or its text, in one of the viewer's lists."""
    picker(view, name).select_option(option)


def picker(view: Locator, name: str) -> Locator:
    """One of the viewer's lists."""
    return unfolded(view.get_by_role("combobox", name=name, exact=True, include_hidden=True))


def unfolded(found: Locator) -> Locator:
    """A control of the viewer, once the fold that holds it is open."""
    found.evaluate("node => node.closest('.hl-more:not([open])')?.querySelector('summary').click()")
    return found


def matrix(view: Locator, number: int = 0) -> Locator:
    """One of the viewer's large pictures: 0 is the chosen head, the others are those it is compared with."""
    return view.locator(".hl-head .hl-matrix").nth(number)


def matrix_state(view: Locator) -> dict[str, JSON]:
    """State of the chosen head's picture."""
    told: dict[str, JSON] = state(view)["matrices"][0]
    return told


def at_cell(page: Page, view: Locator, query: int, key: int) -> None:
    """Move the pointer over a cell of the chosen head's matrix, at any scroll position."""
    now = matrix_state(view)
    box = matrix(view).locator(".hl-box")
    [left, top], scrolled = now["corner"], scroll(box)
    width, height = now["cell"]
    x, y = (key + 0.5) * width, (query + 0.5) * height
    move_to(page, box, left + x - scrolled[0], top + y - scrolled[1])


def click_cell(page: Page, view: Locator, query: int, key: int) -> None:
    at_cell(page, view, query, key)
    page.mouse.down()
    page.mouse.up()


def scroll(box: Locator) -> list[float]:
    """Scroll position of a box: [x, y]."""
    place: list[float] = box.evaluate("box => [box.scrollLeft, box.scrollTop]")
    return place


def grid(view: Locator) -> Locator:
    """The viewer's picture of all heads."""
    return view.locator(".hl-grid")


def at_map(page: Page, view: Locator, layer: int, head: int) -> None:
    """Move the pointer over a map in the grid of all heads."""
    x, y = state(view)["middles"][layer][head]
    move_to(page, grid(view).locator(".hl-stage"), x, y)


def click_map(page: Page, view: Locator, layer: int, head: int) -> None:
    at_map(page, view, layer, head)
    page.mouse.down()
    page.mouse.up()


def ink(canvas: Locator) -> int:
    """The number of pixels of a canvas that are neither transparent nor white."""
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
