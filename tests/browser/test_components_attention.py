"""The large matrix and the lines in a real browser."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.apps.synthetic import attention
from tests.browser.conftest import Serve
from tests.browser.views import APP, Traffic, at_cell, ink, move_to, open_view, state


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


def test_512_tokens_scroll_in_a_bounded_box(page: Page, traffic: Traffic, url: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 1300})
    view = open_view(page, url, "matrix", "queries=512&keys=512&causal=1")
    assert traffic.received < 650_000
    box = view.locator(".hl-box").bounding_box()
    assert box is not None
    assert box["height"] <= 820
    assert state(view, "view.axes.cell") >= 4
    expect(view.locator(".hl-note")).to_contain_text("512 queries × 512 keys: scroll")
    view.locator(".hl-box").evaluate("box => box.scrollTo(0, 1e6)")
    at_cell(page, view, 511, 3)
    expect(view.locator(".hl-tip")).to_contain_text("query 511, key 3")


def test_the_note_tells_of_cells_that_are_cut_off(page: Page, url: str) -> None:
    """Not of the end of a slanted label, for which alone the box scrolls at some widths."""
    view = open_view(page, url, "matrix", "queries=12&keys=11")
    layouts = view.evaluate(
        """root => Array.from({ length: 40 }, (_, i) => {
            root.style.width = 300 + 5 * i + "px";
            root.view.layout();
            const { box, axes, cells, note } = root.view;
            const cut = axes.left + cells.keys * axes.cell > box.clientWidth;
            return [cut, box.scrollWidth > box.clientWidth, note.textContent !== ""];
        })"""
    )
    assert [noted for _, _, noted in layouts] == [cut for cut, _, _ in layouts]
    kinds = {(scrolls, noted) for _, scrolls, noted in layouts}
    assert kinds == {(True, True), (True, False), (False, False)}


def test_slanted_labels_get_the_room_that_they_take(page: Page, url: str) -> None:
    """A long label in the middle ends above the other columns: only what reaches beyond them needs more."""
    view = open_view(page, url, "matrix", "queries=12&keys=11")
    cell, cells, labels, room, longest = view.evaluate(
        """root => {
            const { axes, data } = root.view;
            const widths = data.keys.map((token) => axes.pen.measureText(token).width);
            const ends = widths.map((width, key) => (key + 0.5) * axes.cell + width * Math.SQRT1_2);
            const cells = data.keys.length * axes.cell;
            return [axes.cell, cells, Math.max(...ends), axes.width - axes.left, Math.max(...widths)];
        }"""
    )
    assert max(cells, labels) <= room < cells + longest * 0.5**0.5
    assert room - max(cells, labels) < cell


# Lines


def test_heads_are_toggled_and_isolated(page: Page, traffic: Traffic, url: str) -> None:
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
