"""A page counts as idle once nothing that it asked for can still come."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.browser.components.line import Line
from tests.browser.conftest import OpenPage, Serve
from tests.browser.headlight import settle, visit, wait_until

APP = Path(__file__).parent / "apps" / "vanishing.py"


def test_a_fragment_that_the_page_no_longer_draws_is_not_awaited(open_page: OpenPage, serve: Serve) -> None:
    page = open_page()
    line = Line(page)
    visit(page, serve(APP))
    ended = line.ended
    line.hold_answers()
    page.get_by_text("With a counter").click()
    wait_until(page, partial(line.has_ended, ended + 1), "the page never ran")
    line.release_start()
    sent = line.sent
    page.get_by_role("button", name="Count").click()  # the server has dropped it already
    wait_until(page, lambda: line.sent > sent, "the click was never sent")
    line.release()
    settle(page)
    assert page.get_by_role("button", name="Count").count() == 0
