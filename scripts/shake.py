"""Changes pages at random moments of a live training run, as an impatient user would: for an hour.

Between the changes it starts, pauses, resumes and stops the run, and it clicks what still stands there of a
page that is being left. What must hold: every link leads to its page, no page is blank, nothing is thrown.
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

MODEL = "model=toy-en-it"
TRAINING = "training"
PAGES = {
    "Explore": "",
    "Learn": "learn",
    "Step by step": "step-by-step",
    "Lab": "lab",
    "Decode": "decode",
    "Training": TRAINING,
    "Positions": "positions",
    "Masks": "masks",
    "Layer norm": "layer-norm",
    "Checkpoint": "checkpoint",
}
LONG = "task=Copy&train_steps=10,000&train_layers=4&train_heads=2&train_width=128"
"""Minutes on any machine."""
ACTIONS = ("Pause", "Resume", "Restart", "Pause", "Resume", "Stop and clear", "Start")
"""What is done with the run, in turn."""
WIDGETS = 'button[data-testid^="stBaseButton"]:not([data-testid$="elementToolbar"])'
"""Those that the server hears of: the toolbars of plots and tables act in the browser alone."""
MOMENT_MILLISECONDS = 400
"""A change comes at most so long after the one before, or after a button."""
WAIT_MILLISECONDS = 60_000
STREAMLIT_PROBES = re.compile(r"/[^/]+/_stcore/(health|host-config)$")


class Shaking:
    """One user who changes pages at random moments, and trains a small model meanwhile.

    Attributes:
        done: how often each page was opened, and each thing done.
    """

    def __init__(self, page: Page, url: str, rng: random.Random) -> None:
        """Open the Training page and begin a run."""
        self.done = Counter[str]()
        self._page, self._rng, self._actions = page, rng, cycle(ACTIONS)
        page.goto(f"{url}/{TRAINING}?{MODEL}&{LONG}")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_test_id("stProgress")).to_contain_text("Learning", timeout=2 * WAIT_MILLISECONDS)

    @property
    def changes(self) -> int:
        """How often the page was changed."""
        return sum(self.done[title] for title in PAGES)

    def change_page(self) -> None:
        """Change it once, at a random moment.

        Raises:
            TimeoutError: Playwright's, when the page doesn't come.
            AssertionError: when it comes with another address, or with an exception.
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
        """Do the next thing with the run that there is a button for, as soon as it can be done.

        One for another thing is there when a click that was too late has met a button of this page, and one
        may go while it is looked at, when the last click is answered only now. What is pressed while the page
        is still being drawn waits for that, and is gone when a link comes first.
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
        """Click a button of the page that is being left, if one is still there."""
        buttons = self._page.get_by_test_id("stMain").locator(WIDGETS)
        n = buttons.count()
        if n:
            self.done["too late"] += _click(buttons.nth(self._rng.randrange(n)))


def _click(locator: Locator) -> bool:
    """Click at once, without waiting for it to come to rest; False if it has just gone."""
    return bool(locator.evaluate_all("found => { found[0]?.click(); return found.length > 0; }"))


def main() -> int:
    """Shake for some minutes; the exit status is 1 when anything was thrown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="the same moments again")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    chromium = find_chromium()
    if chromium is None:
        print("There is no Chromium on the PATH: install it.")
        return 1
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not STREAMLIT_PROBES.search(message.location["url"]):
            errors.append(f"{message.text} ({message.location['url']})")

    with streamlit_server(ROOT / "app.py") as url, sync_playwright() as playwright:
        page = launch_chromium(playwright, chromium).new_page()
        page.set_default_timeout(WAIT_MILLISECONDS)
        page.on("console", note)
        page.on("pageerror", lambda error: errors.append(str(error)))
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
