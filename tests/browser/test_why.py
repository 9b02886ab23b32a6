"""Why in a real browser: from a word to a head, to the output without it, and to the cells of a patch."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.headlight import TOY, settle, table, visit


@pytest.mark.slow
def test_from_a_word_to_a_head_and_to_the_output_without_it(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/{TOY}&attention=cross&cell=1,2")
    page.get_by_role("button", name=re.compile("^Why “")).click()
    settle(page)
    expect(page.get_by_role("heading", name="Why this word?")).to_be_visible()
    expect(page).to_have_url(re.compile("[?&]word=1(&|$)"))
    expect(page.get_by_text("Does the order depend on what replaces the output?")).to_be_visible()
    settle(page)
    card = page.locator(".st-key-why_without")
    costliest = card.inner_text()
    table(page).click(position={"x": 150, "y": 90})  # the second row
    expect(card).not_to_have_text(costliest)
    expect(card.get_by_text("With its mean in its place the model writes:")).to_be_visible()
    expect(page).to_have_url(re.compile("opened_head="))
    page.get_by_role("button", name="Switch more parts off").click()
    settle(page)
    expect(page.get_by_text("With these parts off")).to_be_visible()
    expect(page).to_have_url(re.compile("off_heads="))
    link = page.url
    visit(page, link)
    expect(page.get_by_text("With these parts off")).to_be_visible()


@pytest.mark.slow
def test_a_clicked_cell_opens_in_heads_and_in_one_layer_position_by_position(
    page: Page, app_url: str
) -> None:
    text = "my sister is younger than your brother."
    asked = f"&text={text}&section=Patch&word=0&patch_what=encoder: heads of self-attention"
    visit(page, f"{app_url}/why{TOY}{asked}")
    opened = page.get_by_text(re.compile("exchanged, the answer goes"))
    expect(opened).to_contain_text("With layer 1, head 2 exchanged")
    _click_cell(page, (1, 3), (2, 4))
    expect(opened).to_contain_text("With layer 1, head 3 exchanged")
    page.get_by_role("button", name="Patch layer 1, position by position").click()
    settle(page)
    expect(opened).to_contain_text("With layer 1, head 3, position my exchanged")
    _click_cell(page, (2, 1), (4, 9))
    expect(opened).to_contain_text("With layer 1, head 2, position sister / brother exchanged")


def _click_cell(page: Page, cell: tuple[int, int], size: tuple[int, int]) -> None:
    """Click the middle of a cell of the grid of patches."""
    grid = page.locator(".st-key-why_patches .nsewdrag").first
    grid.scroll_into_view_if_needed()
    box = grid.bounding_box()
    assert box is not None
    (row, column), (rows, columns) = cell, size
    x, y = (column + 0.5) / columns * box["width"], (row + 0.5) / rows * box["height"]
    grid.click(position={"x": x, "y": y})
    settle(page)
