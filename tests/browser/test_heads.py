"""Heads in a real browser: a click anywhere on a row of the table opens its head."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.headlight import TOY, settle, table, visit


@pytest.mark.slow
def test_a_click_on_any_cell_of_a_row_opens_its_head(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    visit(page, f"{app_url}/heads{TOY}")
    opened = page.get_by_role("heading", level=3)
    first = opened.inner_text()
    found = {first}
    for row, column in ((1, 40), (2, 150), (3, 600), (4, 950)):
        table(page).click(position={"x": column, "y": 65 * row + 50})
        expect(opened).not_to_have_text(first)
        first = opened.inner_text()
        found.add(first)
        settle(page)
    assert len(found) == 5, "one head per row"
