"""Why in a real browser: from a word on Explore to a head in the table, and to the output without it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.headlight import TOY, settle, visit


@pytest.mark.slow
def test_from_a_word_to_a_head_and_to_the_output_without_it(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/{TOY}&attention=cross&cell=1,2")
    page.get_by_role("button", name=re.compile("^Why “")).click()
    settle(page)
    expect(page.get_by_role("heading", name="Why this word?")).to_be_visible()
    expect(page).to_have_url(re.compile("[?&]word=1(&|$)"))
    table = page.get_by_test_id("stDataFrame").first
    expect(page.get_by_text("Does the order depend on what replaces the output?")).to_be_visible()
    settle(page)
    card = page.locator(".st-key-why_without")
    costliest = card.inner_text()
    table.click(position={"x": 150, "y": 90})  # the second row
    expect(card).not_to_have_text(costliest)
    expect(card.get_by_text("With zeros in its place the model writes:")).to_be_visible()
    expect(page).to_have_url(re.compile("opened_head="))
    page.get_by_role("button", name="Switch more parts off").click()
    settle(page)
    expect(page.get_by_text("With these parts off")).to_be_visible()
    expect(page).to_have_url(re.compile("off_heads="))
    link = page.url
    visit(page, link)
    expect(page.get_by_text("With these parts off")).to_be_visible()
