"""Fixtures that open Headlight in a real Chromium and fail on anything that a user should never see.

page          a guarded page, as the last test left it: opening a new one takes seconds
traffic       counts what this page sends and receives during a test
open_page     opens a new page in its own browser context: open_page(color_scheme="dark")
app_url       address of the running app
serve         runs another Streamlit script: url = serve(path); one server per script for the whole session
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, Protocol
from urllib.parse import urljoin

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from scripts.browser import ROOT, WATCH_REQUESTS, launch_chromium, streamlit_server
from tests.browser.components.views import Traffic
from tests.browser.guard import Guard
from tests.browser.headlight import PATIENCE_SECONDS
from tests.support.missing import missing
from viz.figures.chromium import find_chromium

VIEWPORT = ViewportSize(width=1400, height=1000)
WAIT_MILLISECONDS = 1000 * PATIENCE_SECONDS

ColorScheme = Literal["light", "dark"]
Serve = Callable[[Path], str]


class OpenPage(Protocol):
    """Opens a guarded page in its own browser context, like another user's browser."""

    def __call__(self, color_scheme: ColorScheme = "light") -> Page: ...


class Kept(NamedTuple):
    """The page that tests share."""

    page: Page
    guard: Guard
    traffic: Traffic


free_contexts: dict[ColorScheme, list[BrowserContext]] = {"light": [], "dark": []}
"""Contexts of earlier tests, to reuse: in a new one Chromium spends seconds recompiling all scripts."""


def new_context(chromium: Browser, color_scheme: ColorScheme) -> BrowserContext:
    """Open a browser context with an empty page that keeps its window open: a new window takes a second.

    Its pages use reduced motion, which saves a tenth of the processor's time, and may use the clipboard.
    """
    context = chromium.new_context(
        viewport=VIEWPORT,
        color_scheme=color_scheme,
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(WAIT_MILLISECONDS)
    context.add_init_script(WATCH_REQUESTS)
    context.new_page()
    return context


@contextmanager
def guarded_page(chromium: Browser, color_scheme: ColorScheme = "light") -> Iterator[tuple[Page, Guard]]:
    """Open a page in a browser context that no other test is using and that has nothing stored."""
    free = free_contexts[color_scheme]
    context = free.pop() if free else new_context(chromium, color_scheme)
    page = context.new_page()
    yield page, Guard(page)
    if context in chromium.contexts:
        for opened in context.pages[1:]:
            forget(opened)
            opened.close()
        free.append(context)


def forget(page: Page) -> None:
    """Clear the browser storage of the page's site."""
    if page.url.startswith("http"):
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder as browser tests."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        missing("no Chromium on PATH: install it (Debian and Ubuntu: apt-get install chromium)")
    expect.set_options(timeout=WAIT_MILLISECONDS)
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright, path)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def serve() -> Iterator[Serve]:
    running: dict[Path, str] = {}
    with ExitStack() as servers:

        def serve_once(script: Path) -> str:
            if script not in running:
                running[script] = servers.enter_context(streamlit_server(script))
            return running[script]

        yield serve_once


@pytest.fixture(scope="session")
def app_url(serve: Serve) -> str:
    return serve(ROOT / "app.py")


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[OpenPage]:
    with ExitStack() as contexts:
        guards: list[Guard] = []

        def open_guarded(color_scheme: ColorScheme = "light") -> Page:
            page, guard = contexts.enter_context(guarded_page(chromium, color_scheme))
            guards.append(guard)
            return page

        yield open_guarded
        for guard in guards:
            guard.check()


@pytest.fixture(scope="session")
def kept(chromium: Browser) -> Iterator[Kept]:
    with guarded_page(chromium) as (page, guard):
        yield Kept(page, guard, Traffic(page))


@pytest.fixture
def page(kept: Kept) -> Iterator[Page]:
    """The page that all tests of a process share, with its storage cleared."""
    page, guard, _ = kept
    page.set_viewport_size(VIEWPORT)
    page.emulate_media(media="screen", color_scheme="light", reduced_motion="reduce")
    if page.get_by_test_id("stSidebarNav").count():
        # An answer still on its way to the app would store the last test's scenes again.
        page.goto(urljoin(page.url, "/_stcore/health"))
    forget(page)
    yield page
    guard.check()


@pytest.fixture
def traffic(kept: Kept) -> Traffic:
    kept.traffic.sent = kept.traffic.received = 0
    return kept.traffic
