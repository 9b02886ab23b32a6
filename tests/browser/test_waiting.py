"""Requests that overtake their answers: none is awaited in vain, and none breaks the page."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.components.line import Line
from tests.browser.conftest import OpenPage, Serve
from tests.browser.headlight import settle, visit, wait_until

APPS = Path(__file__).parent / "apps"
APP = APPS / "vanishing.py"


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
    wait_until(page, partial(line.has_sent, sent + 1), "the click was never sent")
    line.release()
    settle(page)
    assert page.get_by_role("button", name="Count").count() == 0


def test_a_message_is_kept_until_late_answers_have_come(open_page: OpenPage, serve: Serve) -> None:
    """A browser forgets long messages some runs later: by default, before late answers refer to them."""
    page = open_page()
    line = Line(page)
    visit(page, serve(APP))
    line.hold_answers()
    ticks = ("long text", "counter", "counter", "counter", "long text")
    for n, name in enumerate(ticks, start=line.ended + 1):
        page.get_by_text(f"With a {name}").click()
        wait_until(page, partial(line.has_ended, n), "the page never ran")
    line.release()
    settle(page)
    expect(page.get_by_text("long enough for the browser to keep it")).to_be_visible()


def test_a_click_on_a_page_that_a_link_has_left_empties_nothing(open_page: OpenPage, serve: Serve) -> None:
    page = open_page()
    line = Line(page)
    visit(page, f"{serve(APPS / 'left_page.py')}/second")
    for title in ("First", "Second"):
        ended = line.ended
        line.hold_answers()
        page.get_by_role("link", name=title, exact=True).click()
        wait_until(page, partial(line.has_ended, ended + 1), "the page never ran")
        sent = line.sent
        page.get_by_role("button", name="Count").click()  # the browser still shows the page before
        wait_until(page, partial(line.has_sent, sent + 1), "the click was never sent")
        line.release()
        settle(page)
        expect(page.get_by_text(f"the {title.lower()} page")).to_be_visible()
