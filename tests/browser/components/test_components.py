"""The client-side views in a real browser: what they have in common, the tokens and the decoding steps."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.components.views import (
    Traffic,
    check_fits,
    check_reachable,
    grid,
    ink,
    matrix,
    move_to,
    open_view,
)
from tests.browser.conftest import OpenPage
from tests.browser.headlight import settle

VIEWS = {
    "viewer": "queries=30&keys=20",
    "tokens": "tokens=40",
    "steps": "tokens=20&forced=1",
    "tree": "beam=8&steps=30",
    "next": "tokens=6000",
}


# Every view


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_fits_every_window_and_is_reached_and_named_by_keyboard(
    page: Page, url: str, name: str
) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    view = open_view(page, url, name, VIEWS[name])
    check_fits(view, 400)
    check_reachable(view)
    page.set_viewport_size({"width": 1920, "height": 900})
    settle(page)
    check_fits(view, 1920)


@pytest.mark.parametrize("name", ["tokens", "steps"])
def test_hovering_sends_nothing(page: Page, traffic: Traffic, url: str, name: str) -> None:
    view = open_view(page, url, name, VIEWS[name])
    sent = traffic.sent
    for step in range(15):
        move_to(page, view, 40 + 20 * step, 60 + 15 * step)
    settle(page)
    assert traffic.sent == sent


@pytest.mark.slow
def test_a_sharp_screen_gets_a_sharp_canvas(open_page: OpenPage, url: str) -> None:
    page = open_page()
    page.context.new_cdp_session(page).send(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1000, "height": 900, "deviceScaleFactor": 2, "mobile": False},
    )
    view = open_view(page, url, "viewer", VIEWS["viewer"])
    for part in (grid(view), matrix(view)):
        canvas = part.locator("canvas").first
        sharpness = canvas.evaluate("canvas => canvas.width / canvas.getBoundingClientRect().width")
        assert sharpness == pytest.approx(2, abs=0.02)
        assert ink(canvas) > 1000


# Tokens and steps


def test_tokens_are_shown_literally_and_unknown_ones_in_words(page: Page, url: str) -> None:
    view = open_view(page, url, "tokens", "tokens=500")
    chips = view.locator(".hl-token")
    expect(chips).to_have_count(500)
    framed = view.get_by_role("list", name="the word").first.get_by_role("listitem")
    assert framed.count() > 1, "the parts of a word are a list of their own"
    expect(chips.nth(11)).to_contain_text("<b>x")
    expect(chips.nth(11)).to_contain_text("unknown")
    expect(chips.nth(2)).not_to_contain_text("unknown")
    assert view.locator("b, script").count() == 0


def test_a_step_is_chosen_by_click_and_by_key(page: Page, url: str) -> None:
    view = open_view(page, url, "steps", "tokens=9")
    view.get_by_role("option").nth(4).click()
    expect(view.locator(".hl-sofar")).to_contain_text("Step 4. After <bos> yesterday i saw a")
    view.get_by_role("listbox").focus()
    page.keyboard.press("ArrowRight")
    expect(view.get_by_role("option").nth(5)).to_have_attribute("aria-selected", "true")
    expect(view.locator(".hl-bars .taken .word")).to_have_text("near")


def test_a_given_word_outside_the_best_shows_its_rank(page: Page, url: str) -> None:
    view = open_view(page, url, "steps", "tokens=9&forced=1")
    view.get_by_role("option").nth(2).click()
    given = view.locator(".hl-bars .taken")
    expect(given.locator(".rank")).to_have_text("187.")
    expect(given.locator(".word")).to_have_text("<script>x")
    expect(given.locator(".percent")).to_have_text("< 0.1 %")
    expect(given.locator(".tag")).to_have_text("given")
    shares = [
        float(text.split(" %")[0])
        for text in view.locator(".hl-bars .percent").all_inner_texts()
        if "<" not in text
    ]
    assert sum(shares) == pytest.approx(100, abs=0.4)
