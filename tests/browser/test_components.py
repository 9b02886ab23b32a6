"""The client-side views in a real browser: what they show and send, and that they stay where they are."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, WebSocket, expect

from tests.browser.apps.synthetic import attention, words
from tests.browser.conftest import OpenPage, Serve
from viz.components.client_view import JSON

APP = Path(__file__).parent / "apps" / "components_app.py"
VIEWS = {
    "grid": "layers=6&heads=8&queries=30&keys=20",
    "matrix": "queries=20&keys=25",
    "lines": "heads=8&queries=12&keys=15",
    "tokens": "tokens=40",
    "steps": "tokens=20&forced=1",
}


@pytest.fixture(scope="module")
def url(serve: Serve) -> str:
    return serve(APP)


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


# Every view


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("width", [400, 1920])
def test_a_view_fits_the_window(page: Page, url: str, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    view = open_view(page, url, name, VIEWS[name])
    box = view.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert view.evaluate("root => root.scrollWidth <= root.clientWidth")


@pytest.mark.parametrize("name", VIEWS)
def test_hovering_sends_nothing(page: Page, url: str, name: str) -> None:
    traffic = Traffic(page)
    view = open_view(page, url, name, VIEWS[name])
    sent = traffic.sent
    for step in range(15):
        move_to(page, view, 40 + 20 * step, 60 + 15 * step)
    page.wait_for_timeout(300)
    assert traffic.sent == sent


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_reached_and_named_by_keyboard(page: Page, url: str, name: str) -> None:
    view = open_view(page, url, name, VIEWS[name])
    focusable = view.locator("[tabindex='0'][role]")
    focusable.focus()
    assert focusable.evaluate("node => node.getRootNode().activeElement === node")
    assert focusable.get_attribute("aria-label")


@pytest.mark.parametrize("name", ["grid", "matrix", "lines"])
def test_a_sharp_screen_gets_a_sharp_canvas(open_page: OpenPage, url: str, name: str) -> None:
    page = open_page()
    page.context.new_cdp_session(page).send(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1000, "height": 900, "deviceScaleFactor": 2, "mobile": False},
    )
    canvas = open_view(page, url, name, VIEWS[name]).locator("canvas").first
    assert canvas.evaluate("canvas => canvas.width / canvas.getBoundingClientRect().width") == pytest.approx(
        2, abs=0.02
    )
    assert ink(canvas) > 1000


# The grid


def test_a_click_selects_a_head_at_once_and_in_python(page: Page, url: str) -> None:
    view = open_view(page, url, "grid", VIEWS["grid"])
    at_map(page, view, 2, 5)
    page.mouse.down()
    page.mouse.up()
    assert state(view, "view.selected") == [2, 5]
    expect(
        page.get_by_text("picked GridCell(layer=2, head=5); remembered GridCell(layer=2, head=5)")
    ).to_be_visible()


def test_the_tooltip_names_the_strongest_pair_with_its_weight(page: Page, url: str) -> None:
    view = open_view(page, url, "grid", VIEWS["grid"])
    cells = attention(6, 8, 30, 20, causal=False)[3, 4]
    query, key = np.unravel_index(cells.argmax(), cells.shape)
    at_map(page, view, 3, 4)
    tooltip = view.locator(".hl-tip")
    expect(tooltip).to_contain_text("layer 3, head 4")
    text = re.sub("[\u2068\u2069]", "", tooltip.inner_text())
    assert f"strongest: “{words(30)[query]}” → “{words(20)[key]}” {cells.max():.2f}" in text


def test_arrow_keys_move_the_selection_and_tell_only_where_they_stop(page: Page, url: str) -> None:
    traffic = Traffic(page)
    view = open_view(page, url, "grid", VIEWS["grid"])
    view.locator(".hl-stage").focus()
    sent = traffic.sent
    for key in ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowUp"]:
        page.keyboard.press(key)
    assert state(view, "view.selected") == [0, 1]
    expect(page.get_by_text("remembered GridCell(layer=0, head=1)")).to_be_visible()
    assert traffic.sent == sent + 1


def test_new_maps_are_drawn_in_place(page: Page, url: str) -> None:
    view = open_view(page, url, "grid", VIEWS["grid"])
    view.get_by_role("button", name="each head its own").click()
    before = state(view, "Array.from(view.data.levels.slice(0, 200))")
    view.locator("canvas").first.evaluate("canvas => (canvas.same = true)")
    page.get_by_role("button", name="reverse").click()
    page.wait_for_function(
        "([root, before]) => root.view.data.levels.slice(0, 200).join() !== before.join()",
        arg=[view.element_handle(), before],
    )
    assert view.locator("canvas").first.evaluate("canvas => canvas.same")
    assert view.get_by_role("button", name="each head its own").get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("tokens,side,limit", [(64, 64, 300_000), (512, 96, 1_000_000)])
def test_a_grid_of_48_heads_is_small(page: Page, url: str, tokens: int, side: int, limit: int) -> None:
    traffic = Traffic(page)
    open_view(page, url, "grid", f"layers=6&heads=8&queries={tokens}&keys={tokens}&side={side}")
    assert 48 * min(tokens, side) ** 2 < traffic.received < limit


@pytest.mark.parametrize(
    "size", ["layers=1&heads=1", "layers=12&heads=16", "layers=2&heads=3&queries=1&keys=40"]
)
def test_grids_of_every_size_are_drawn(page: Page, url: str, size: str) -> None:
    assert ink(open_view(page, url, "grid", size).locator("canvas").first) > 100


# The matrix


def test_the_tooltip_has_the_cell_number(page: Page, url: str) -> None:
    view = open_view(page, url, "matrix", "queries=9&keys=13")
    weights = attention(1, 8, 9, 13, causal=False)[0, 2]
    for query, key in [(0, 0), (4, 12), (8, 3)]:
        at_cell(page, view, query, key)
        tooltip = view.locator(".hl-tip")
        expect(tooltip.locator(".value")).to_have_text(f"{weights[query, key]:.4f}")
        expect(tooltip).to_contain_text(f"query {query}, key {key}")


def test_a_closed_cell_says_why(page: Page, url: str) -> None:
    view = open_view(page, url, "matrix", "queries=10&keys=10&causal=1&padding=2&kind=scores")
    for cell, reason in [((2, 5), "future"), ((9, 9), "padding"), ((3, 9), "future and padding")]:
        at_cell(page, view, *cell)
        expect(view.locator(".hl-tip .title").nth(1)).to_have_text(f"masked: {reason}")
        expect(view.locator(".hl-tip .value")).to_have_text("−∞")


def test_a_click_locks_a_cell_and_escape_lets_it_go(page: Page, url: str) -> None:
    view = open_view(page, url, "matrix", "queries=9&keys=13")
    at_cell(page, view, 3, 7)
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_text("remembered MatrixCell(query=3, key=7)")).to_be_visible()
    at_cell(page, view, 5, 2)
    assert state(view, "[view.locked, view.hovered]") == [[3, 7], [5, 2]]
    view.locator(".hl-box").focus()
    page.keyboard.press("Escape")
    expect(page.get_by_text("remembered None")).to_be_visible()
    assert state(view, "view.locked") is None


def test_arrow_keys_and_enter_choose_a_cell(page: Page, url: str) -> None:
    view = open_view(page, url, "matrix", "queries=9&keys=13")
    view.locator(".hl-box").focus()
    for key in ["ArrowDown", "ArrowDown", "ArrowRight", "Enter"]:
        page.keyboard.press(key)
    expect(page.get_by_text("remembered MatrixCell(query=1, key=1)")).to_be_visible()


def test_zoom_and_scroll_outlive_new_data(page: Page, url: str) -> None:
    view = open_view(page, url, "matrix", "queries=60&keys=60")
    for _ in range(4):
        view.get_by_role("button", name="larger cells").click()
    view.locator(".hl-box").evaluate("box => box.scrollTo(130, 170)")
    before = state(view, "[view.axes.cell, view.box.scrollLeft, view.box.scrollTop]")
    numbers = state(view, "Array.from(view.data.values.slice(0, 60))")
    page.get_by_role("button", name="next head").click()
    page.wait_for_function(
        "([root, before]) => root.view.data.values.slice(0, 60).join() !== before.join()",
        arg=[view.element_handle(), numbers],
    )
    assert state(view, "[view.axes.cell, view.box.scrollLeft, view.box.scrollTop]") == before
    assert before[1:] == [130, 170]


def test_a_tooltip_follows_new_data(page: Page, url: str) -> None:
    view = open_view(page, url, "matrix", "queries=9&keys=9")
    at_cell(page, view, 2, 0)
    page.get_by_role("button", name="next head").focus()
    value = view.locator(".hl-tip .value")
    expect(value).to_have_text(f"{attention(1, 8, 9, 9, causal=False)[0, 2][2, 0]:.4f}")
    page.keyboard.press("Enter")
    expect(value).to_have_text(f"{attention(1, 8, 9, 9, causal=False)[0, 3][2, 0]:.4f}")


def test_512_tokens_scroll_in_a_bounded_box(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 1300})
    traffic = Traffic(page)
    view = open_view(page, url, "matrix", "queries=512&keys=512&causal=1")
    assert traffic.received < 650_000
    box = view.locator(".hl-box").bounding_box()
    assert box is not None
    assert box["height"] <= 820
    assert state(view, "view.axes.cell") >= 4
    view.locator(".hl-box").evaluate("box => box.scrollTo(0, 1e6)")
    at_cell(page, view, 511, 3)
    expect(view.locator(".hl-tip")).to_contain_text("query 511, key 3")


# Lines


def test_heads_are_toggled_and_isolated(page: Page, url: str) -> None:
    traffic = Traffic(page)
    view = open_view(page, url, "lines", "heads=3&queries=6&keys=9")
    sent = traffic.sent
    view.get_by_role("button", name="head 1").click()
    assert state(view, "view.on") == [True, False, True]
    view.get_by_role("button", name="head 2").dblclick()
    assert state(view, "view.on") == [False, False, True]
    view.get_by_role("button", name="all").click()
    assert state(view, "view.on") == [True, True, True]
    assert traffic.sent == sent


def test_the_slider_keeps_the_fewest_keys_that_hold_the_mass(page: Page, url: str) -> None:
    view = open_view(page, url, "lines", "heads=3&queries=6&keys=9")
    view.get_by_role("slider").fill("60")
    weights = attention(1, 3, 6, 9, causal=False)[0]
    chosen = state(view, "view.chosen.map((rows) => rows.map((row) => row.map(([key]) => key)))")
    for head, query in np.ndindex(3, 6):
        row = weights[head, query]
        order = np.argsort(-row)
        needed = int(np.searchsorted(np.cumsum(row[order]), 0.6) + 1)
        assert chosen[head][query] == order[:needed].tolist()


def test_one_head_alone_shows_its_own_weights(page: Page, url: str) -> None:
    view = open_view(page, url, "lines", "heads=3&queries=6&keys=9")
    view.get_by_role("button", name="head 1").dblclick()
    weights = attention(1, 3, 6, 9, causal=False)[0, 1]
    shown = state(view, "view.tokens[1].map((_, key) => view.mean([0, 2], 1, key))")
    np.testing.assert_allclose(shown, weights[2], atol=1e-4)


def test_a_hovered_token_leaves_only_its_lines(page: Page, url: str) -> None:
    view = open_view(page, url, "lines", "heads=3&queries=6&keys=9")
    before = ink(view.locator("canvas").nth(1))
    move_to(page, view.locator(".hl-stage"), 20, state(view, "view.y(2)"))
    assert state(view, "view.hovered") == [0, 2]
    expect(view.locator("canvas").first).to_have_css("opacity", "0.06")
    assert ink(view.locator("canvas").nth(1)) > before


# Tokens and steps


def test_tokens_are_shown_literally_and_unknown_ones_in_words(page: Page, url: str) -> None:
    view = open_view(page, url, "tokens", "tokens=500")
    chips = view.get_by_role("listitem")
    expect(chips).to_have_count(500)
    expect(chips.nth(11)).to_contain_text("<b>x")
    expect(chips.nth(11)).to_contain_text("unknown")
    expect(chips.nth(2)).not_to_contain_text("unknown")
    assert view.locator("b, script").count() == 0


def test_a_step_is_chosen_by_click_and_by_key(page: Page, url: str) -> None:
    view = open_view(page, url, "steps", "tokens=9")
    view.get_by_role("option").nth(4).click()
    expect(page.get_by_text("picked 4; remembered 4")).to_be_visible()
    expect(view.locator(".hl-sofar")).to_contain_text("Step 4. After <bos> yesterday i saw a")
    view.get_by_role("listbox").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("picked 5; remembered 5")).to_be_visible()
    expect(view.get_by_role("option").nth(5)).to_have_attribute("aria-selected", "true")
    expect(view.locator(".hl-bars .taken .word")).to_have_text("near")


def test_a_given_word_outside_the_best_shows_its_rank(page: Page, url: str) -> None:
    view = open_view(page, url, "steps", "tokens=9&forced=1")
    view.get_by_role("option").nth(2).click()
    given = view.locator(".hl-bars .taken")
    expect(given.locator(".rank")).to_have_text("187.")
    expect(given.locator(".word")).to_have_text("<script>x")
    expect(given.locator(".percent")).to_have_text("< 0.1 %")
    expect(given.locator(".tag")).to_have_text("given")
    shares = [
        float(text.split(" %")[0])
        for text in view.locator(".hl-bars .percent").all_inner_texts()
        if "<" not in text
    ]
    assert sum(shares) == pytest.approx(100, abs=0.4)
