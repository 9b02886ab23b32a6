"""The prediction board in a real browser: mouse, keyboard, and no answer before the prediction."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.components.views import check_fits, open_view
from tests.browser.headlight import ALL_TEXT, settle


def places(view: Locator) -> Locator:
    return view.get_by_role("button")


def focused(view: Locator) -> str:
    """Accessible name of the focused place, without Unicode direction marks."""
    name = str(view.evaluate("root => root.getRootNode().activeElement?.ariaLabel ?? ''"))
    return name.replace("\u2068", "").replace("\u2069", "")


def test_a_click_predicts_and_what_is_there_is_shown_only_then(page: Page, url: str) -> None:
    view = open_view(page, url, "board", "columns=7")
    expect(view.get_by_role("group", name="Where does it look?")).to_be_visible()
    assert "0.14" not in page.evaluate(ALL_TEXT)
    assert not view.evaluate("root => /weight|right/.test(root.innerHTML)")
    places(view).nth(2).click()
    expect(page.get_by_text("predicted: (0, 2)")).to_be_visible()
    expect(places(view).nth(0)).to_contain_text("0.14")
    expect(places(view).nth(6)).to_contain_text("✓")
    expect(places(view).nth(2)).to_contain_text("✕")
    assert "your prediction" in (places(view).nth(2).get_attribute("aria-label") or "")


@pytest.mark.slow
def test_what_is_closed_or_revealed_is_not_predicted(page: Page, url: str) -> None:
    view = open_view(page, url, "board", "columns=7")
    expect(places(view).nth(1)).to_be_disabled()
    places(view).nth(1).click(force=True)
    places(view).nth(3).click()
    expect(page.get_by_text("predicted: (0, 3)")).to_be_visible()
    expect(places(view).nth(3)).to_contain_text("✕")
    places(view).nth(5).click()
    expect(page.get_by_text("predicted: (0, 3)")).to_be_visible()


def test_arrow_keys_go_past_what_is_closed_and_enter_predicts(page: Page, url: str) -> None:
    view = open_view(page, url, "board", "columns=7&reveal=0")
    places(view).nth(0).focus()
    for key, at in (
        ("ArrowRight", 2),
        ("ArrowRight", 3),
        ("ArrowRight", 5),
        ("ArrowLeft", 3),
        ("ArrowUp", 3),
    ):
        page.keyboard.press(key)
        assert focused(view).endswith(f"position {at}"), key
    assert places(view).evaluate_all("all => all.filter((one) => one.tabIndex === 0).length") == 1
    page.keyboard.press("Enter")
    expect(page.get_by_text("predicted: (0, 3)")).to_be_visible()


@pytest.mark.slow
def test_a_matrix_is_walked_in_both_directions(page: Page, url: str) -> None:
    view = open_view(page, url, "board", "rows=3&columns=5&reveal=0")  # closed: 1, 4, 7, 10, 13
    expect(view.get_by_role("table", name="Where does it look?")).to_be_visible()
    places(view).nth(0).focus()
    page.keyboard.press("ArrowDown")
    assert focused(view).startswith("layer “layer 1”")
    page.keyboard.press("ArrowDown")
    assert focused(view).startswith("layer “layer 1”"), "the last row is closed there"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_text("predicted: (1, 1)")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("options", ["columns=30", "rows=12&columns=16"])
def test_a_board_fits_every_window(page: Page, url: str, options: str) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    view = open_view(page, url, "board", options)
    check_fits(view, 400)
    page.set_viewport_size({"width": 1920, "height": 900})
    settle(page)
    check_fits(view, 1920)
