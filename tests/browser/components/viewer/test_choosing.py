"""A choice in the viewer is painted at once and reported once."""

from __future__ import annotations

from importlib.metadata import distributions

from playwright.sync_api import Page, expect

from tests.browser.components.line import Line
from tests.browser.components.views import Traffic, choose, click_map, grid, matrix, open_view, picker, state
from tests.browser.conftest import OpenPage
from tests.browser.headlight import picture, settle, wait_until
from tests.support.missing import missing

KEYS_AT_ONCE = """
(node, keys) => {
  for (const key of keys) node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
}
"""
"""Presses keys with no time between them, even on a slow machine."""


def in_address(page: Page, name: str, value: str) -> None:
    """Wait until the parameter has this value in the address."""
    says = "([name, value]) => new URLSearchParams(location.search).get(name) === value"
    page.wait_for_function(says, arg=[name, value])


def test_choosing_is_painted_before_any_answer_and_told_once(open_page: OpenPage, url: str) -> None:
    page = open_page()
    line = Line(page)
    view = open_view(page, url, "viewer", "scores=1&keys=9")
    measures = picker(view, "Numbers in the cells")
    choose(view, "Which attention", "Decoder self-attention")
    click_map(page, view, 4, 3)
    measures.select_option("scores")
    settle(page)  # the browser now has the scores of this head
    measures.select_option("weights")
    choose(view, "Which attention", "Cross-attention")
    click_map(page, view, 5, 0)
    settle(page)
    shown = {picture(matrix(view))}
    sent = line.sent
    line.hold()

    def expect_another_picture() -> None:
        assert picture(matrix(view)) not in shown
        shown.add(picture(matrix(view)))

    choose(view, "Which attention", "Decoder self-attention")
    expect_another_picture()
    choose(view, "Layer", "layer 2")
    expect_another_picture()
    click_map(page, view, 4, 3)
    expect_another_picture()
    measures.select_option("scores")
    expect_another_picture()
    chosen = state(view)["choice"]
    wait_until(page, lambda: line.sent > sent, "the choice was not told")
    line.release()
    in_address(page, "measure", "scores")
    in_address(page, "layer", "4")
    in_address(page, "head", "3")
    in_address(page, "attention", "decoder")
    expect(page.get_by_text("chosen: decoder, layer 4, head 3")).to_be_visible()
    settle(page)
    assert state(view)["choice"] == chosen


def test_arrow_keys_move_the_head_and_tell_only_where_they_stop(
    page: Page, traffic: Traffic, url: str
) -> None:
    view = open_view(page, url, "viewer", "layer=5")
    stage = grid(view).locator(".hl-stage")
    stage.focus()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_text("chosen: cross, layer 4, head 0")).to_be_visible()
    settle(page)
    sent = traffic.sent
    stage.evaluate(KEYS_AT_ONCE, ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowUp"])
    assert state(view)["selected"] == [3, 1]
    expect(page.get_by_text("chosen: cross, layer 3, head 1")).to_be_visible()
    settle(page)
    assert traffic.sent == sent + 1


def test_a_choice_sends_neither_the_run_again_nor_a_script(page: Page, traffic: Traffic, url: str) -> None:
    """The browser has already loaded the script, as a file of the installed project."""
    if not list(distributions(name="headlight")):
        missing("Headlight is not installed: make installs it (pip install --editable .)")
    view = open_view(page, url, "viewer", "queries=20&keys=20")
    traffic.received = 0
    click_map(page, view, 1, 2)
    expect(page.get_by_text("chosen: cross, layer 1, head 2")).to_be_visible()
    settle(page)
    assert traffic.received < 8_000
