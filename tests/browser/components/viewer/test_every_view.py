"""Every view of a run fits the window, is reachable by keyboard and shows no unwanted motion."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.components.views import check_fits, check_reachable, open_view, press

VIEW_NAMES = ("One head", "All heads", "Lines", "One token")
MOVES = """
(root) => [...root.querySelectorAll("*")].filter((node) => {
  const { transitionDuration, animationName } = getComputedStyle(node);
  return animationName !== "none" || !/^0s(, 0s)*$/.test(transitionDuration);
}).map((node) => node.outerHTML.slice(0, 100))
"""


@pytest.mark.parametrize("width", [400, 1920])
def test_every_picture_fits_the_window_is_reached_by_keyboard_and_never_moves(
    page: Page, url: str, width: int
) -> None:
    """The browser asks for reduced motion."""
    page.set_viewport_size({"width": width, "height": 900})
    view = open_view(page, url, "viewer", "queries=20&keys=30")
    for name in VIEW_NAMES:
        press(view, name)
        check_fits(view, width)
        check_reachable(view)
        assert view.evaluate(MOVES) == [], name
