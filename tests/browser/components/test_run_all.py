"""A click in a fragment counts even if the whole page is run right after it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Serve
from tests.browser.headlight import visit

APP = Path(__file__).parents[1] / "apps" / "run_all_app.py"
CLICK = """
() => {
  [...document.querySelectorAll("button")].find((button) => button.textContent === "Count").click();
  document.dispatchEvent(new Event("headlight-run-all"));
}
"""
"""A click just as a view reports a choice, for which `after_user.js` requests a run of the whole page."""


@pytest.mark.slow
def test_no_click_is_lost(page: Page, serve: Serve) -> None:
    visit(page, serve(APP))
    for n in range(1, 11):
        page.evaluate(CLICK)
        expect(page.get_by_text(f"{n} clicks", exact=True)).to_be_visible()
        expect(page.get_by_text(f"{n + 1} runs of the whole page", exact=True)).to_be_visible()
