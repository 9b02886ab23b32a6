"""The chosen head in a real browser: its cells, their tooltips and its size."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.apps.synthetic import cross_weights
from tests.browser.components.views import (
    Traffic,
    at_cell,
    choose,
    click_cell,
    click_map,
    matrix,
    matrix_state,
    open_view,
    press,
    scroll,
    state,
)
from tests.browser.headlight import expect_other_picture, picture, settle

SCROLL = """
async (box, place) => {
  box.scrollTo(...place);
  for (const _ of ["told", "painted"]) await new Promise(requestAnimationFrame);
}
"""


def test_the_tooltip_has_the_cell_number(page: Page, url: str) -> None:
    view = open_view(page, url, "viewer", "layer=5")
    for query, key in [(0, 0), (4, 12), (8, 3)]:
        at_cell(page, view, query, key)
        tooltip = matrix(view).locator(".hl-tip")
        number = cross_weights(9, 13)[5, 0, query, key]
        expect(tooltip.locator(".value")).to_have_text(f"{number:.4f}")
        expect(tooltip).to_contain_text(f"query {query}, key {key}")


@pytest.mark.slow
def test_a_closed_cell_says_why(page: Page, url: str) -> None:
    view = open_view(page, url, "viewer", "scores=1&padding=2")
    choose(view, "Numbers in the cells", "Scores after the mask")
    for attention_name, cell, reason in [
        ("Decoder self-attention", (2, 5), "future: comes after the query"),
        ("Cross-attention", (3, 12), "padding"),
    ]:
        choose(view, "Which attention", attention_name)
        settle(page)
        at_cell(page, view, *cell)
        expect(matrix(view).locator(".hl-tip .title").nth(1)).to_have_text(f"masked: {reason}")
        expect(matrix(view).locator(".hl-tip .value")).to_have_text("−∞")


def test_a_click_locks_a_cell_and_escape_lets_it_go(page: Page, url: str) -> None:
    view = open_view(page, url, "viewer")
    click_cell(page, view, 3, 7)
    expect(page.get_by_text("cell (3, 7)")).to_be_visible()
    at_cell(page, view, 5, 2)
    assert (matrix_state(view)["selected"], matrix_state(view)["hovered"]) == ([3, 7], [5, 2])
    matrix(view).locator(".hl-box").focus()
    page.keyboard.press("Escape")
    assert state(view)["choice"]["cell"] is None
    expect(page.get_by_text("cell None")).to_be_visible()


def test_arrow_keys_and_enter_choose_a_cell(page: Page, url: str) -> None:
    view = open_view(page, url, "viewer")
    [query, key] = matrix_state(view)["selected"]
    matrix(view).locator(".hl-box").focus()
    down, right = (1 if query == 0 else -1), (1 if key == 0 else -1)
    for name in ["ArrowDown" if down > 0 else "ArrowUp", "ArrowRight" if right > 0 else "ArrowLeft", "Enter"]:
        page.keyboard.press(name)
    assert state(view)["choice"]["cell"] == [query + down, key + right]
    expect(page.get_by_text(f"cell ({query + down}, {key + right})")).to_be_visible()


@pytest.mark.slow
def test_the_strongest_cell_is_marked_until_one_is_chosen(page: Page, url: str) -> None:
    view = open_view(page, url, "viewer")
    for layer, head in [(5, 0), (2, 6)]:
        click_map(page, view, layer, head)
        cells = cross_weights(9, 13)[layer, head]
        strongest = np.unravel_index(cells.argmax(), cells.shape)
        assert matrix_state(view)["selected"] == [int(place) for place in strongest]


def test_zoom_and_scroll_outlive_another_head(page: Page, url: str) -> None:
    view = open_view(page, url, "viewer", "queries=60&keys=60")
    for _ in range(4):
        view.get_by_role("button", name="larger cells").click()
    box = matrix(view).locator(".hl-box")
    box.evaluate(SCROLL, [130, 170])
    cell, before = matrix_state(view)["cell"], picture(matrix(view))
    click_map(page, view, 1, 2)
    expect_other_picture(matrix(view), before)
    assert matrix_state(view)["cell"] == cell
    assert scroll(box) == [130, 170]


@pytest.mark.slow
def test_another_run_is_drawn_in_place(page: Page, url: str) -> None:
    """The zoom, the colour scale and the tooltip stay; the tooltip shows the new number."""
    view = open_view(page, url, "viewer", "layer=5")
    press(view, "each its own")
    view.get_by_role("button", name="larger cells").click()
    zoomed = matrix_state(view)["cell"]
    view.locator("canvas").evaluate_all("found => found.forEach((canvas) => (canvas.same = true))")
    at_cell(page, view, 4, 6)
    value = matrix(view).locator(".hl-tip .value")
    expect(value).to_have_text(f"{cross_weights(9, 13)[5, 0, 4, 6]:.4f}")
    page.get_by_role("button", name="another run").focus()
    page.keyboard.press("Enter")
    expect(value).to_have_text(f"{cross_weights(9, 13)[5, 7, 4, 6]:.4f}")
    assert matrix_state(view)["cell"] == zoomed
    assert view.get_by_role("button", name="each its own").get_attribute("aria-pressed") == "true"
    shown = view.locator(".hl-grid canvas, .hl-head .hl-matrix:first-child canvas")
    assert shown.evaluate_all("found => found.every((canvas) => canvas.same)")


@pytest.mark.slow
def test_512_tokens_scroll_in_a_bounded_box(page: Page, traffic: Traffic, url: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 1300})
    view = open_view(page, url, "viewer", "layers=2&heads=3&queries=512&keys=512")
    choose(view, "Which attention", "Decoder self-attention")
    settle(page)
    box = matrix(view).locator(".hl-box").bounding_box()
    assert box is not None
    assert box["height"] <= 820
    assert np.min(matrix_state(view)["cell"]) >= 4
    expect(matrix(view).locator(".hl-note")).to_contain_text("512 queries × 512 keys: scroll")
    matrix(view).locator(".hl-box").evaluate("box => box.scrollTo(0, 1e6)")
    at_cell(page, view, 511, 3)
    expect(matrix(view).locator(".hl-tip")).to_contain_text("query 511, key 3")
