"""Whichever view of the run is shown: it has room, is reached by keyboard, and does not move unasked."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.components.views import check_fits, check_reachable, open_view, press

VIEW_NAMES = ("One head", "All heads of the layer", "Map", "One token")
MOVES = """
(root) => [...root.querySelectorAll("*")].filter((node) => {
  const { transitionDuration, animationName } = getComputedStyle(node);
  return animationName !== "none" || !/^0s(, 0s)*$/.test(transitionDuration);
}).map((node) => node.outerHTML.slice(0, 100))
"""


@pytest.mark.parametrize("name", VIEW_NAMES)
@pytest.mark.parametrize("width", [400, 1920])
def test_a_view_fits_the_window(page: Page, url: str, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    view = open_view(page, url, "viewer", "queries=20&keys=30")
    press(view, name)
    check_fits(view, width)


@pytest.mark.parametrize("name", VIEW_NAMES)
def test_every_picture_is_reached_and_named_by_keyboard(page: Page, url: str, name: str) -> None:
    view = open_view(page, url, "viewer")
    press(view, name)
    check_reachable(view)


def test_nothing_moves_where_the_user_wants_no_motion(page: Page, url: str) -> None:
    view = open_view(page, url, "viewer")
    for name in VIEW_NAMES:
        press(view, name)
        assert view.evaluate(MOVES) == [], name
