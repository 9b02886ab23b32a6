"""The client-side views in a real browser: all of them, the grid, the tokens and the steps."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.apps.synthetic import attention, words
from tests.browser.components.views import (
    APP,
    Traffic,
    at_map,
    check_fits,
    check_reachable,
    ink,
    move_to,
    open_view,
    state,
)
from tests.browser.conftest import OpenPage, Serve
from tests.browser.headlight import expect_other_picture, picture

VIEWS = {
    "grid": "layers=6&heads=8&queries=30&keys=20",
    "matrix": "queries=20&keys=25",
    "lines": "heads=8&queries=12&keys=15",
    "tokens": "tokens=40",
    "steps": "tokens=20&forced=1",
}
KEYS_AT_ONCE = """
(node, keys) => {
  for (const key of keys) node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
}
"""
"""However slow the machine is, no time passes between these keys."""


@pytest.fixture
def page(kept_page: Page) -> Page:
    """The same for all tests here."""
    return kept_page


@pytest.fixture(scope="module")
def url(serve: Serve) -> str:
    return serve(APP)


# Every view


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("width", [400, 1920])
def test_a_view_fits_the_window(page: Page, url: str, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    check_fits(open_view(page, url, name, VIEWS[name]), width)


@pytest.mark.parametrize("name", VIEWS)
def test_hovering_sends_nothing(page: Page, traffic: Traffic, url: str, name: str) -> None:
    view = open_view(page, url, name, VIEWS[name])
    sent = traffic.sent
    for step in range(15):
        move_to(page, view, 40 + 20 * step, 60 + 15 * step)
    page.wait_for_timeout(300)
    assert traffic.sent == sent


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_reached_and_named_by_keyboard(page: Page, url: str, name: str) -> None:
    check_reachable(open_view(page, url, name, VIEWS[name]))


def test_a_sharp_screen_gets_a_sharp_canvas(open_page: OpenPage, url: str) -> None:
    page = open_page()
    page.context.new_cdp_session(page).send(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1000, "height": 900, "deviceScaleFactor": 2, "mobile": False},
    )
    for name in ("grid", "matrix", "lines"):
        canvas = open_view(page, url, name, VIEWS[name]).locator("canvas").first
        sharpness = canvas.evaluate("canvas => canvas.width / canvas.getBoundingClientRect().width")
        assert sharpness == pytest.approx(2, abs=0.02), name
        assert ink(canvas) > 1000, name


# The grid


def test_a_click_selects_a_head_at_once_and_in_python(page: Page, url: str) -> None:
    view = open_view(page, url, "grid", VIEWS["grid"])
    at_map(page, view, 2, 5)
    page.mouse.down()
    page.mouse.up()
    assert state(view)["selected"] == [2, 5]
    expect(
        page.get_by_text("picked GridCell(layer=2, head=5); remembered GridCell(layer=2, head=5)")
    ).to_be_visible()


def test_the_tooltip_names_the_strongest_pair_with_its_weight(page: Page, url: str) -> None:
    view = open_view(page, url, "grid", VIEWS["grid"])
    cells = attention(6, 8, 30, 20, causal=False)[3, 4]
    query, key = np.unravel_index(cells.argmax(), cells.shape)
    at_map(page, view, 3, 4)
    tooltip = view.locator(".hl-tip")
    expect(tooltip).to_contain_text("layer 3, head 4")
    text = re.sub("[\u2068\u2069]", "", tooltip.inner_text())
    assert f"strongest: “{words(30)[query]}” → “{words(20)[key]}” {cells.max():.2f}" in text


def test_arrow_keys_move_the_selection_and_tell_only_where_they_stop(
    page: Page, traffic: Traffic, url: str
) -> None:
    view = open_view(page, url, "grid", VIEWS["grid"])
    stage = view.locator(".hl-stage")
    stage.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_text("remembered GridCell(layer=1, head=0)")).to_be_visible()
    sent = traffic.sent
    stage.evaluate(KEYS_AT_ONCE, ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowUp"])
    assert state(view)["selected"] == [0, 1]
    expect(page.get_by_text("remembered GridCell(layer=0, head=1)")).to_be_visible()
    assert traffic.sent == sent + 1


def test_new_maps_are_drawn_in_place(page: Page, url: str) -> None:
    view = open_view(page, url, "grid", VIEWS["grid"])
    view.get_by_role("button", name="each head its own").click()
    before = picture(view)
    view.locator("canvas").first.evaluate("canvas => (canvas.same = true)")
    page.get_by_role("button", name="reverse").click()
    expect_other_picture(view, before)
    assert view.locator("canvas").first.evaluate("canvas => canvas.same")
    assert view.get_by_role("button", name="each head its own").get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("tokens,side,limit", [(64, 64, 300_000), (512, 96, 1_000_000)])
def test_a_grid_of_48_heads_is_small(
    page: Page, traffic: Traffic, url: str, tokens: int, side: int, limit: int
) -> None:
    open_view(page, url, "grid", f"layers=6&heads=8&queries={tokens}&keys={tokens}&side={side}")
    assert 48 * min(tokens, side) ** 2 < traffic.received < limit


@pytest.mark.parametrize(
    "size", ["layers=1&heads=1", "layers=12&heads=16", "layers=2&heads=3&queries=1&keys=40"]
)
def test_grids_of_every_size_are_drawn(page: Page, url: str, size: str) -> None:
    assert ink(open_view(page, url, "grid", size).locator("canvas").first) > 100


# Tokens and steps


def test_tokens_are_shown_literally_and_unknown_ones_in_words(page: Page, url: str) -> None:
    view = open_view(page, url, "tokens", "tokens=500")
    chips = view.get_by_role("listitem")
    expect(chips).to_have_count(500)
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
