"""What a part of the benchmark needs: its size, browsers, and servers of the app."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cached_property

from playwright.sync_api import Browser, Playwright, sync_playwright

from scripts.browser import ROOT, launch_chromium, server_process
from viz.figures.chromium import find_chromium


class Setting:
    """Browsers and servers for the parts of one run of the benchmark.

    Attributes:
        smallest: measure everything once, at the smallest size; the figures are then meaningless.
    """

    def __init__(self, *, smallest: bool = False) -> None:
        self.smallest = smallest
        self._running = ExitStack()

    def __enter__(self) -> Setting:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    @contextmanager
    def browser(self) -> Iterator[Browser]:
        """Start a fresh browser: nothing warmed up, nothing cached.

        Raises:
            RuntimeError: there is no Chromium.
        """
        path = find_chromium()
        if path is None:
            raise RuntimeError("No Chromium on PATH: install it (on Debian: apt-get install chromium).")
        browser = launch_chromium(self._playwright, path)
        try:
            yield browser
        finally:
            browser.close()

    def server(self, workers: int = 0) -> AbstractContextManager[tuple[str, int]]:
        """Start the app, alone or as several workers with a proxy in front; yield its URL and process id."""
        return server_process(ROOT / "app.py", workers=workers)

    @cached_property
    def _playwright(self) -> Playwright:
        """One for all browsers: Playwright can't be started twice in a thread."""
        return self._running.enter_context(sync_playwright())
