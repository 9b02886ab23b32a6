"""All heads in a real browser: their maps, and their rows for one token."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.apps.synthetic import cross_weights, words
from tests.browser.components.views import (
    at_map,
    choose,
    click_cell,
    click_map,
    grid,
    ink,
    matrix,
    open_view,
    press,
    state,
)
from tests.browser.headlight import picture


def test_a_click_chooses_a_head_at_once_and_in_python(page: Page, url: str) -> None:
    view = open_view(page, url, "viewer")
    before = picture(matrix(view))
    click_map(page, view, 2, 5)
    assert state(view)["selected"] == [2, 5]
    assert picture(matrix(view)) != before
    expect(page.get_by_text("chosen: cross, layer 2, head 5")).to_be_visible()


def test_the_tooltip_names_the_strongest_pair_with_its_weight(page: Page, url: str) -> None:
    view = open_view(page, url, "viewer")
    cells = cross_weights(9, 13)[3, 4]
    query, key = np.unravel_index(cells.argmax(), cells.shape)
    at_map(page, view, 3, 4)
    tooltip = grid(view).locator(".hl-tip")
    expect(tooltip).to_contain_text("layer 3, head 4")
    text = re.sub("[\u2068\u2069]", "", tooltip.inner_text())
    assert f"strongest: “{words(9)[query]}” → “{words(13)[key]}” {cells.max():.2f}" in text


@pytest.mark.slow
def test_grids_of_every_size_are_drawn(page: Page, url: str) -> None:
    for size in ("layers=1&heads=1", "layers=12&heads=16", "layers=2&heads=3&queries=1&keys=40"):
        assert ink(grid(open_view(page, url, "viewer", size)).locator("canvas").first) > 100, size


def test_a_click_on_a_row_chooses_its_head(page: Page, url: str) -> None:
    view = open_view(page, url, "viewer")
    press(view, "One token")
    rows = view.locator(".hl-token")
    assert ink(rows.locator("canvas").first) > 1000
    y = state(view)["rows"]["middles"][1][4][3]
    rows.locator("canvas").nth(1).click(position={"x": 200, "y": y})
    expect(page.get_by_text("chosen: decoder, layer 4, head 3")).to_be_visible()
    rows.locator(".hl-blocks").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("chosen: cross, layer 4, head 4")).to_be_visible()


@pytest.mark.slow
def test_a_row_says_where_its_head_looks_most(page: Page, url: str) -> None:
    view = open_view(page, url, "viewer")
    click_cell(page, view, 6, 2)
    press(view, "One token")
    rows = view.locator(".hl-token")
    expect(rows).to_contain_text("position 6")
    rows.locator("canvas").first.hover(position={"x": 180, "y": state(view)["rows"]["middles"][0][1][2]})
    expect(rows.locator(".hl-tip")).to_contain_text("layer 1, head 2")
    expect(rows.locator(".hl-tip")).to_contain_text(f"{cross_weights(9, 13)[1, 2, 6].max():.2f}")
    choose(view, "Token", "4")
    expect(rows).to_contain_text("position 4")
    expect(rows.locator(".hl-tip")).to_contain_text(f"{cross_weights(9, 13)[1, 2, 4].max():.2f}")
