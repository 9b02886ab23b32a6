"""Take the README's screenshot of the Explore page: `make screenshot`."""

from __future__ import annotations

import sys
from urllib.parse import urlencode

from playwright.sync_api import ViewportSize, sync_playwright

from scripts.browser import ROOT, launch_chromium, streamlit_server, wait_until_idle
from viz.figures.chromium import find_chromium

TARGET = ROOT / "assets" / "screenshots" / "explore.png"
WIDTH, HEIGHT = 1500, 1000
SHOWN = {"cell": "14,12"}
"""The token "stanco", which agrees with the animal: "it" is the animal that was too tired."""
PAINTED_MILLISECONDS = 1_500


def main() -> None:
    """Open the app on its own server, choose a word, and save a screenshot."""
    path = find_chromium()
    if path is None:
        sys.exit("No Chromium on PATH: install it (Debian and Ubuntu: apt-get install chromium).")
    with streamlit_server(ROOT / "app.py") as url, sync_playwright() as playwright:
        browser = launch_chromium(playwright, path)
        page = browser.new_page(viewport=ViewportSize(width=WIDTH, height=HEIGHT), color_scheme="light")
        page.goto(f"{url}/?{urlencode(SHOWN)}")
        wait_until_idle(page)
        page.wait_for_function("() => !document.querySelector('[data-testid=stSkeleton]')")
        page.wait_for_timeout(PAINTED_MILLISECONDS)
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=TARGET)
        browser.close()
    print(TARGET.relative_to(ROOT))


if __name__ == "__main__":
    main()
