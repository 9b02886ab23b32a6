"""From the moment that the server answers to a usable page, for the first visitor and the second."""

from __future__ import annotations

import time
from dataclasses import dataclass

from playwright.sync_api import Browser, expect

from bench.browser.watch import GRID, LIMIT_MILLISECONDS, watched_page
from bench.measurement import Seconds
from bench.setting import Setting
from scripts.browser import wait_until_idle


@dataclass(frozen=True)
class FirstPage:
    """One visitor with a browser that is already running.

    Attributes:
        visitor: 0 is the first since the server started.
        frame: from the browser's request to the page's frame with its navigation.
        usable: until the translation and the grid of heads are painted and the page is at rest.
    """

    visitor: int
    frame: Seconds
    usable: Seconds


def measure(setting: Setting) -> list[FirstPage]:
    """Start a server and visit it twice."""
    with setting.browser() as browser, setting.server() as (url, _):
        return [measure_first_page(browser, url, visitor) for visitor in range(2)]


def measure_first_page(browser: Browser, url: str, visitor: int) -> FirstPage:
    """Open the start page in a new context, like a first-time visitor."""
    page = watched_page(browser)
    page.set_default_timeout(LIMIT_MILLISECONDS)
    started = time.monotonic()
    page.goto(url, wait_until="commit")
    navigation = page.get_by_test_id("stSidebarNavItems")
    link = navigation.get_by_role("link", name="Decode", exact=True)
    expect(link).to_be_visible(timeout=LIMIT_MILLISECONDS)
    frame = Seconds(time.monotonic() - started)
    page.wait_for_function("(name) => paints.some(([own]) => own === name)", arg=GRID)
    wait_until_idle(page, LIMIT_MILLISECONDS)
    usable = Seconds(time.monotonic() - started)
    page.context.close()
    return FirstPage(visitor, frame, usable)
