"""Two people with a real Chromium: one of them has a wrong clock."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Sequence

from playwright.sync_api import ConsoleMessage, Error, Page, sync_playwright

from scripts.browser import launch_chromium, wait_until_idle
from scripts.soaking.people import SENTENCES, Findings

CLOCK_IS_OFF = """
(() => {
  const Right = Date, off = -40 * 365 * 86400e3;
  globalThis.Date = class extends Right {
    constructor(...parts) { parts.length ? super(...parts) : super(Right.now() + off); }
    static now() { return Right.now() + off; }
  };
})();
"""
"""Forty years ago, as on a computer whose battery is empty."""
_LINKS = ("Explore", "Decode", "Step by step", "Why", "Masks", "Learn", "Heads")
_LOST = re.compile(r"WebSocket|ERR_|Failed to load resource|Client Error|health|host-config", re.IGNORECASE)
"""Messages of a browser whose server is gone."""
_GONE_SECONDS = 45.0
"""Time after a kill in which they may come."""
_WAIT_MILLISECONDS = 90_000


class Browsers(threading.Thread):
    """Both of them, in one thread: each does something in turn.

    Args:
        url: the server.
        chromium: path of the program.
        names: their words, one for each.
        others: the words of the people without a browser.
        findings: where to record.
        over: set when the soak ends.
        rng: what they do.

    Attributes:
        killed_at: when a worker was last killed, by `time.monotonic`.
    """

    def __init__(
        self,
        url: str,
        chromium: str,
        names: Sequence[str],
        others: Sequence[str],
        findings: Findings,
        over: threading.Event,
        rng: random.Random,
    ) -> None:
        super().__init__(name="browsers", daemon=True)
        self.killed_at = -_GONE_SECONDS
        self._url, self._chromium, self._names, self._others = url, chromium, names, others
        self._findings, self._over, self._rng = findings, over, rng

    def run(self) -> None:
        """Visit until the soak is over."""
        try:
            with sync_playwright() as playwright:
                browser = launch_chromium(playwright, self._chromium)
                pages = []
                for name in self._names:
                    context = browser.new_context()
                    if name == self._names[-1]:
                        context.add_init_script(CLOCK_IS_OFF)
                    pages.append(context.new_page())
                    self._watch(pages[-1], name)
                    pages[-1].goto(self._url)
                while not self._over.is_set():
                    for page, name in zip(pages, self._names, strict=True):
                        self._act(page, name)
                        page.wait_for_timeout(1000 * self._rng.uniform(2, 5))
                browser.close()
        except Exception as error:
            self._findings.add("the browsers", f"failed: {error!r}")

    def _act(self, page: Page, name: str) -> None:
        """Type a sentence or change pages, and wait until the page shows the answer."""
        try:
            wait_until_idle(page, _WAIT_MILLISECONDS)
            boxes = page.get_by_label(re.compile("^English sentence"))
            if boxes.count() and self._rng.random() < 0.6:
                boxes.first.fill(self._rng.choice(SENTENCES).format(name))
                boxes.first.press("Enter")
                self._findings.done["typed a sentence in Chromium"] += 1
            else:
                title = self._rng.choice(_LINKS)
                links = page.get_by_test_id("stSidebarNavItems").get_by_role("link", name=title, exact=True)
                links.first.click(timeout=_WAIT_MILLISECONDS)
                page.get_by_role("heading", name=title, level=1).wait_for(timeout=_WAIT_MILLISECONDS)
                self._findings.done["changed pages in Chromium"] += 1
            wait_until_idle(page, _WAIT_MILLISECONDS)
            self._check(page, name)
        except Error as error:
            if time.monotonic() - self.killed_at > 2 * _GONE_SECONDS:
                self._findings.add(name, f"in Chromium at {page.url}: {error.message.splitlines()[0]}")
            page.reload()

    def _check(self, page: Page, name: str) -> None:
        if page.get_by_test_id("stException").count():
            self._findings.add(name, f"Chromium shows an exception at {page.url}")
        text = page.content()
        for other in (*self._others, *(own for own in self._names if own != name)):
            if other in text:
                self._findings.add(name, f"Chromium shows {other}'s text at {page.url}")

    def _watch(self, page: Page, name: str) -> None:
        def console(message: ConsoleMessage) -> None:
            is_lost = time.monotonic() - self.killed_at < _GONE_SECONDS and _LOST.search(message.text)
            if message.type == "error" and not is_lost:
                self._findings.add(name, f"console error: {message.text} ({message.location['url']})")

        page.on("console", console)
        page.on("pageerror", lambda error: self._findings.add(name, f"script error: {error}"))
