"""The large matrix and the lines in a real browser."""

from __future__ import annotations

from importlib.metadata import distributions

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.apps.synthetic import attention, words
from tests.browser.components.views import APP, Traffic, at_cell, ink, move_to, open_view, scroll, state
from tests.browser.conftest import Serve
from tests.browser.headlight import expect_other_picture, picture, settle
from tests.support.missing import missing

SCROLL = """
async (box, place) => {
  box.scrollTo(...place);
  for (const _ of ["told", "painted"]) await new Promise(requestAnimationFrame);
}
"""


@pytest.fixture
def page(kept_page: Page) -> Page:
    """The same for all tests here."""
    return kept_page


@pytest.fixture(scope="module")
def url(serve: Serve) -> str:
    return serve(APP)


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
    assert (state(view)["selected"], state(view)["hovered"]) == ([3, 7], [5, 2])
    view.locator(".hl-box").focus()
    page.keyboard.press("Escape")
    expect(page.get_by_text("remembered None")).to_be_visible()
    assert state(view)["selected"] is None


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
    box = view.locator(".hl-box")
    box.evaluate(SCROLL, [130, 170])
    cell, before = state(view)["cell"], picture(view)
    page.get_by_role("button", name="next head").click()
    expect_other_picture(view, before)
    assert state(view)["cell"] == cell
    assert scroll(box) == [130, 170]


def test_an_update_sends_its_numbers_and_no_script(page: Page, traffic: Traffic, url: str) -> None:
    """The browser has the script already, as a file of the installed project."""
    if not list(distributions(name="headlight")):
        missing("Headlight is not installed: make installs it (pip install --editable .)")
    view = open_view(page, url, "matrix", "queries=12&keys=12")
    before, traffic.received = picture(view), 0
    page.get_by_role("button", name="next head").click()
    expect_other_picture(view, before)
    settle(page)
    assert traffic.received < 8_000


def test_a_tooltip_follows_new_data(page: Page, url: str) -> None:
    view = open_view(page, url, "matrix", "queries=9&keys=9")
    at_cell(page, view, 2, 0)
    page.get_by_role("button", name="next head").focus()
    value = view.locator(".hl-tip .value")
    expect(value).to_have_text(f"{attention(1, 8, 9, 9, causal=False)[0, 2][2, 0]:.4f}")
    page.keyboard.press("Enter")
    expect(value).to_have_text(f"{attention(1, 8, 9, 9, causal=False)[0, 3][2, 0]:.4f}")


def test_512_tokens_scroll_in_a_bounded_box(page: Page, traffic: Traffic, url: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 1300})
    view = open_view(page, url, "matrix", "queries=512&keys=512&causal=1")
    assert traffic.received < 650_000
    box = view.locator(".hl-box").bounding_box()
    assert box is not None
    assert box["height"] <= 820
    assert state(view)["cell"] >= 4
    expect(view.locator(".hl-note")).to_contain_text("512 queries × 512 keys: scroll")
    view.locator(".hl-box").evaluate("box => box.scrollTo(0, 1e6)")
    at_cell(page, view, 511, 3)
    expect(view.locator(".hl-tip")).to_contain_text("query 511, key 3")


def test_the_note_tells_of_cells_that_are_cut_off(page: Page, url: str) -> None:
    """Not of the end of a slanted label, for which alone the box scrolls at some widths."""
    view = open_view(page, url, "matrix", "queries=12&keys=11")
    layouts = view.evaluate(
        """async root => {
            const box = root.querySelector(".hl-box"), note = root.querySelector(".hl-note");
            const frame = () => new Promise(requestAnimationFrame);
            const layouts = [];
            for (let i = 0; i < 40; i++) {
                root.style.width = 300 + 5 * i + "px";
                await frame();  // before the view is told of its width
                await frame();  // after that
                const { cell, corner } = root.state();
                const cut = corner[0] + 11 * cell > box.clientWidth;
                layouts.push([cut, box.scrollWidth > box.clientWidth, note.textContent !== ""]);
            }
            return layouts;
        }"""
    )
    assert [noted for _, _, noted in layouts] == [cut for cut, _, _ in layouts]
    kinds = {(scrolls, noted) for _, scrolls, noted in layouts}
    assert kinds == {(True, True), (True, False), (False, False)}


def test_slanted_labels_get_the_room_that_they_take(page: Page, url: str) -> None:
    """A long label in the middle ends above the other columns: only what reaches beyond them needs more."""
    view = open_view(page, url, "matrix", "queries=12&keys=11")
    cell, cells, labels, room, longest = view.evaluate(
        """(root, keys) => {
            const { cell, corner } = root.state();
            const pen = document.createElement("canvas").getContext("2d");
            pen.font = "15px " + getComputedStyle(root).fontFamily;
            const widths = keys.map((token) => pen.measureText(token).width);
            const ends = widths.map((width, key) => (key + 0.5) * cell + width * Math.SQRT1_2);
            const room = root.querySelector(".hl-space").offsetWidth - corner[0];
            return [cell, keys.length * cell, Math.max(...ends), room, Math.max(...widths)];
        }""",
        words(11),
    )
    assert max(cells, labels) <= room < cells + longest * 0.5**0.5
    assert room - max(cells, labels) < cell


# Lines


def test_heads_are_toggled_and_isolated(page: Page, traffic: Traffic, url: str) -> None:
    view = open_view(page, url, "lines", "heads=3&queries=6&keys=9")
    sent = traffic.sent
    view.get_by_role("button", name="head 1").click()
    assert state(view)["on"] == [True, False, True]
    view.get_by_role("button", name="head 2").dblclick()
    assert state(view)["on"] == [False, False, True]
    view.get_by_role("button", name="all").click()
    assert state(view)["on"] == [True, True, True]
    assert traffic.sent == sent


def test_the_slider_keeps_the_fewest_keys_that_hold_the_mass(page: Page, url: str) -> None:
    view = open_view(page, url, "lines", "heads=3&queries=6&keys=9")
    view.get_by_role("slider").fill("60")
    weights = attention(1, 3, 6, 9, causal=False)[0]
    kept = state(view)["kept"]
    for head, query in np.ndindex(3, 6):
        row = weights[head, query]
        order = np.argsort(-row)
        needed = int(np.searchsorted(np.cumsum(row[order]), 0.6) + 1)
        assert kept[head][query] == order[:needed].tolist()


def test_one_head_alone_shows_its_own_weights(page: Page, url: str) -> None:
    view = open_view(page, url, "lines", "heads=3&queries=6&keys=9")
    view.get_by_role("button", name="head 1").dblclick()
    weights = attention(1, 3, 6, 9, causal=False)[0, 1]
    move_to(page, view.locator(".hl-stage"), 20, state(view)["middles"][2])
    np.testing.assert_allclose(state(view)["means"], weights[2], atol=1e-4)


def test_a_hovered_token_leaves_only_its_lines(page: Page, url: str) -> None:
    view = open_view(page, url, "lines", "heads=3&queries=6&keys=9")
    before = ink(view.locator("canvas").nth(1))
    move_to(page, view.locator(".hl-stage"), 20, state(view)["middles"][2])
    assert state(view)["hovered"] == [0, 2]
    expect(view.locator("canvas").first).to_have_css("opacity", "0.06")
    assert ink(view.locator("canvas").nth(1)) > before
