"""The Lab in a real browser: a mistake is chosen, and its address opens it again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.headlight import TOY, settle, visit
from viz.pages.lab.mistakes import MISTAKES


@pytest.mark.slow
def test_a_mistake_is_chosen_and_its_address_opens_it_again(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/lab{TOY}")
    title = MISTAKES["positions-along-batch"].title
    heading = page.get_by_role("heading", name=title, exact=True)
    box = page.get_by_role("combobox", name="Mistake")
    box.click()
    box.fill(title)  # as users search a long list
    page.get_by_role("option", name=title).first.click()
    settle(page)
    expect(heading).to_be_visible()
    expect(page).to_have_url(re.compile("[?&]mistake=positions-along-batch(&|$)"))
    numbers = page.get_by_test_id("stMetricValue")
    shown = numbers.all_inner_texts()
    expect(page.locator(".hl-decoding_steps")).to_have_count(2)
    expect(page.locator(".js-plotly-plot")).to_have_count(2)

    link = page.url
    page.get_by_role("button", name="Next mistake").click()
    settle(page)
    expect(page).not_to_have_url(re.compile("positions-along-batch"))
    visit(page, link)
    expect(heading).to_be_visible()
    assert numbers.all_inner_texts() == shown
