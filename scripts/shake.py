"""Switches pages at random moments of a live training run, as an impatient user would, for an hour.

Between switches it starts, pauses, resumes and stops the run, and clicks buttons of the page it is leaving.
Every link must lead to its page, no page may be blank, and nothing may raise.
"""

from __future__ import annotations

import argparse
import random
import re
import secrets
import sys
import time
from collections import Counter
from itertools import cycle, islice
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Locator, Page, expect, sync_playwright

from scripts.browser import ROOT, launch_chromium, streamlit_server, wait_until_idle
from viz.figures.chromium import find_chromium
from viz.page_titles import TITLES

MODEL = "model=toy-en-it"
TRAINING = "training"
PAGES = {title: "" if path == "explore" else path for path, title in TITLES.items()}
"""Title of each page -> its path."""
LONG = "task=Copy&train_steps=10,000&train_layers=4&train_heads=2&train_width=128"
"""A run that takes minutes on any machine."""
ACTIONS = ("Pause", "Resume", "Restart", "Pause", "Resume", "Stop and clear", "Start")
"""Buttons of the run, pressed in turn."""
WIDGETS = 'button[data-testid^="stBaseButton"]:not([data-testid$="elementToolbar"])'
"""Buttons that reach the server: the toolbars of plots and tables act only in the browser."""
MOMENT_MILLISECONDS = 400
"""The longest pause between two switches, or between a button and a switch."""
WAIT_MILLISECONDS = 60_000
STREAMLIT_PROBES = re.compile(r"/[^/]+/_stcore/(health|host-config)$")


class Shaking:
    """One user who switches pages at random moments while a small model trains.

    Attributes:
        done: how often each page was opened and each button pressed.
    """

    def __init__(self, page: Page, url: str, rng: random.Random) -> None:
        """Open the Training page and start a run."""
        self.done = Counter[str]()
        self._page, self._rng, self._actions = page, rng, cycle(ACTIONS)
        page.goto(f"{url}/{TRAINING}?{MODEL}&{LONG}")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_test_id("stProgress")).to_contain_text("Learning", timeout=2 * WAIT_MILLISECONDS)

    @property
    def changes(self) -> int:
        """The number of page switches so far."""
        return sum(self.done[title] for title in PAGES)

    def change_page(self) -> None:
        """Switch pages once, at a random moment.

        Raises:
            TimeoutError: Playwright's, if the page doesn't appear.
            AssertionError: if it appears at another address or shows an exception.
        """
        page, rng = self._page, self._rng
        here = urlsplit(page.url).path.strip("/")
        if here == TRAINING and rng.random() < 0.6:
            self._act()
        page.wait_for_timeout(rng.uniform(0, MOMENT_MILLISECONDS))
        others = [name for name, path in PAGES.items() if path != here]
        title = "Training" if here != TRAINING and rng.random() < 0.5 else rng.choice(others)
        _click(page.get_by_test_id("stSidebarNavItems").get_by_role("link", name=title, exact=True))
        if rng.random() < 0.3:
            page.wait_for_timeout(rng.uniform(0, 100))
            self._click_too_late()
        page.get_by_role("heading", name=title, level=1).wait_for(timeout=WAIT_MILLISECONDS)
        assert urlsplit(page.url).path.strip("/") == PAGES[title], page.url
        assert not page.get_by_test_id("stException").count()
        self.done[title] += 1

    def _act(self) -> None:
        """Press the next of the run's buttons that is on the page, as soon as it is enabled.

        The buttons may differ from the expected ones if a late click pressed one of this page's, and a button
        may vanish during the lookup if the last click is only answered now. A button pressed while the page
        is still being drawn takes effect afterwards, unless a link is followed first.
        """
        wait_until_idle(self._page)
        pattern = re.compile(f"^({'|'.join(ACTIONS)})$")
        buttons = self._page.get_by_role("button", name=pattern, disabled=False)
        expect(buttons.first).to_be_visible(timeout=2 * WAIT_MILLISECONDS)
        offered = buttons.all_inner_texts()
        for action in islice(self._actions, len(ACTIONS)):
            if action in offered:
                button = self._page.get_by_role("button", name=action, exact=True, disabled=False)
                self.done[action] += _click(button)
                return

    def _click_too_late(self) -> None:
        """Click a button of the page being left, if any is still there."""
        buttons = self._page.get_by_test_id("stMain").locator(WIDGETS)
        n = buttons.count()
        if n:
            self.done["too late"] += _click(buttons.nth(self._rng.randrange(n)))


def errors_of(page: Page) -> list[str]:
    """A list to which all errors on the page's console and all its exceptions are added."""
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not STREAMLIT_PROBES.search(message.location["url"]):
            errors.append(f"{message.text} ({message.location['url']})")

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    return errors


def _click(locator: Locator) -> bool:
    """Click at once, without waiting for the element to be stable; False if it has just vanished."""
    return bool(locator.evaluate_all("found => { found[0]?.click(); return found.length > 0; }"))


def main() -> int:
    """Shake for the given minutes; return exit status 1 if anything raised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="the same moments again")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    chromium = find_chromium()
    if chromium is None:
        print("There is no Chromium on the PATH: install it.")
        return 1
    with streamlit_server(ROOT / "app.py") as url, sync_playwright() as playwright:
        page = launch_chromium(playwright, chromium).new_page()
        page.set_default_timeout(WAIT_MILLISECONDS)
        errors = errors_of(page)
        shaking = Shaking(page, url, random.Random(given.seed))
        end = time.monotonic() + 60 * given.minutes
        while time.monotonic() < end and not errors:
            shaking.change_page()
            if shaking.changes % 100 == 0:
                print(f"{shaking.changes} changes", flush=True)
    print(", ".join(f"{name}: {count}" for name, count in shaking.done.most_common()))
    print("\n".join(errors) or "Nothing was thrown, every link led to its page.")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
