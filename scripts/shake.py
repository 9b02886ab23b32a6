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
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Locator, Page, expect, sync_playwright

from scripts.browser import ROOT, launch_chromium, streamlit_server
from viz.chromium import find_chromium

MODEL = "model=toy-en-it"
TRAINING = "training"
PAGES = {
    "Explore": "",
    "Decode": "decode",
    "Training": TRAINING,
    "Positions": "positions",
    "Masks": "masks",
    "Layer norm": "layer-norm",
    "Checkpoint": "checkpoint",
}
SMALL = "task=Copy&train_steps=10,000&train_layers=1&train_heads=2&train_width=32"
ACTIONS = re.compile("^(Start|Pause|Go on|Start anew|Stop and clear)$")
WIDGETS = 'button[data-testid^="stBaseButton"]'
"""Streamlit's own: a plot's toolbar acts in the browser alone."""
MOMENT_MILLISECONDS = 400
"""A change comes at most so long after the one before, or after a button."""
WAIT_MILLISECONDS = 60_000
STREAMLIT_PROBES = re.compile(r"/[^/]+/_stcore/(health|host-config)$")


def start_training(page: Page, url: str) -> None:
    """Open the Training page and begin a small run that outlasts the test."""
    page.goto(f"{url}/{TRAINING}?{MODEL}&{SMALL}")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_test_id("stProgress")).to_contain_text("It learns", timeout=2 * WAIT_MILLISECONDS)


def change_page(page: Page, rng: random.Random) -> Counter[str]:
    """One change at a random moment, and what led up to it; returns what was done, counted.

    Raises:
        AssertionError: when the page doesn't come, or not whole.
    """
    done: Counter[str] = Counter()
    here = urlsplit(page.url).path.strip("/")
    if here == TRAINING:
        buttons = page.get_by_test_id("stMain").get_by_role("button", name=ACTIONS)
        done += _click_one(buttons, rng)
    page.wait_for_timeout(rng.uniform(0, MOMENT_MILLISECONDS))
    others = [name for name, path in PAGES.items() if path != here]
    title = "Training" if here != TRAINING and rng.random() < 0.5 else rng.choice(others)
    _click(page.get_by_role("link", name=title, exact=True))
    if rng.random() < 0.3:
        page.wait_for_timeout(rng.uniform(0, 100))
        done += _click_one(page.get_by_test_id("stMain").locator(WIDGETS), rng, "too late")
    expect(page.get_by_role("heading", name=title, level=1)).to_be_visible(timeout=WAIT_MILLISECONDS)
    assert urlsplit(page.url).path.strip("/") == PAGES[title], page.url
    assert not page.get_by_test_id("stException").count()
    done[title] += 1
    return done


def _click_one(buttons: Locator, rng: random.Random, what: str = "") -> Counter[str]:
    """Click one of the buttons that are there at this moment, if any is."""
    n = buttons.count()
    if not n:
        return Counter()
    button = buttons.nth(rng.randrange(n))
    name = what or str(button.evaluate_all("found => found[0]?.innerText ?? ''"))
    _click(button)
    return Counter([name])


def _click(locator: Locator) -> None:
    """Click at once, without waiting for it to come to rest; what has just gone is not clicked."""
    locator.evaluate_all("found => found[0]?.click()")


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
    done: Counter[str] = Counter()

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not STREAMLIT_PROBES.search(message.location["url"]):
            errors.append(message.text)

    with streamlit_server(ROOT / "app.py") as url, sync_playwright() as playwright:
        page = launch_chromium(playwright, chromium).new_page()
        page.set_default_timeout(WAIT_MILLISECONDS)
        page.on("console", note)
        page.on("pageerror", lambda error: errors.append(str(error)))
        start_training(page, url)
        rng, end = random.Random(given.seed), time.monotonic() + 60 * given.minutes
        while time.monotonic() < end and not errors:
            done += change_page(page, rng)
            changes = sum(done[title] for title in PAGES)
            if changes % 100 == 0:
                print(f"{changes} changes", flush=True)
    print(", ".join(f"{name}: {count}" for name, count in done.most_common()))
    print("\n".join(errors) or "Nothing was thrown, every link led to its page.")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
