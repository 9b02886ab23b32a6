"""The panel of a cell: its numbers can be reached and copied, and it fits the window."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.components.viewer.cell.reading import CASES, numbers, opened
from tests.browser.components.views import check_fits
from tests.browser.headlight import settle
from transformer.analysis.attention_maps import attention_record as record_of

HEIGHTS = """
async ([view, list, head]) => {
  const cell = view.querySelector(".hl-cell"), score = () => cell.querySelector("[data-name=score]");
  const before = score().value, heights = [cell.offsetHeight];
  list.value = head;
  list.dispatchEvent(new Event("change"));
  while (!score() || score().value === before) {
    await new Promise(requestAnimationFrame);
    heights.push(cell.offsetHeight);
  }
  return [...new Set(heights)];
}
"""


def test_keys_move_among_numbers_and_copy_them(page: Page, url: str) -> None:
    case = CASES[0]
    view, record = opened(page, url, case.kind, case.options), record_of(case.ran().run.trace, "cross", 2)
    reading, shown = view.locator(".hl-reading"), numbers(view)
    view.locator("[data-name='score 0']").focus()
    for key, name in (("ArrowDown", "score 1"), ("ArrowRight", "power 1"), ("ArrowRight", "weight 1")):
        page.keyboard.press(key)
        expect(reading).to_contain_text(shown[name][1])
    page.keyboard.press("Enter")
    expect(reading).to_have_text(f"copied: {shown['weight 1'][0]}")
    expect(view.locator(".hl-cell > .hl-say")).to_have_text(f"copied: {shown['weight 1'][0]}")
    assert view.evaluate("() => navigator.clipboard.readText()") == shown["weight 1"][0]

    strips = view.get_by_label(re.compile("q, k and their products: arrow keys move"))
    strips.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(strips.locator("xpath=..").locator(".hl-tip")).to_contain_text("dimension 3")
    expect(reading).to_contain_text("q [0, 1, 4, 3] of (1, 3, 19, 10) × ")
    page.keyboard.press("Enter")
    expect(reading).to_contain_text("copied: ")
    terms = record.q[0, 1, 4] * record.k[0, 1, 6]
    assert np.float32(view.evaluate("() => navigator.clipboard.readText()")) == terms[3].numpy()


@pytest.mark.slow
def test_a_number_is_copied_where_a_page_has_no_clipboard(page: Page, url: str) -> None:
    view = opened(page, url, "words", CASES[0].options)
    page.evaluate(
        """() => {
        const taken = () => { window.taken = document.activeElement.value; };
        Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
        document.addEventListener("copy", taken, { once: true });
        }"""
    )
    score = view.locator("[data-name=score]")
    score.focus()
    page.keyboard.press("Enter")
    expect(view.locator(".hl-reading")).to_contain_text("copied: ")
    assert (
        page.evaluate("() => { delete navigator.clipboard; return window.taken; }")
        == numbers(view)["score"][0]
    )
    assert score.evaluate("node => node.getRootNode().activeElement === node")


@pytest.mark.slow
def test_nothing_jumps_while_numbers_are_on_their_way(page: Page, url: str) -> None:
    view = opened(page, url, "rotary", "layer=1&head=0&cell=6,3")
    view.locator(".hl-cell").scroll_into_view_if_needed()
    lists = view.locator(".hl-picker select")
    head = next(one for one in lists.all() if one.locator("option").first.inner_text() == "head 0")
    heights = head.evaluate(
        f"async (list) => ({HEIGHTS})([list.closest('.hl'), list, '5'])",
    )
    settle(page)
    at_rest = view.locator(".hl-cell").evaluate("cell => cell.offsetHeight")
    assert set(heights) <= {heights[0], at_rest}, (
        "each head has a height of its own, and no other comes between"
    )


@pytest.mark.slow
def test_it_fits_wide_and_narrow_windows(page: Page, url: str) -> None:
    for width in (400, 1000, 1800):
        page.set_viewport_size({"width": width, "height": 900})
        view = opened(page, url, "rotary", CASES[4].options)
        check_fits(view, width)
        panel = view.locator(".hl-cell")
        assert panel.evaluate("root => root.scrollWidth <= root.clientWidth")
