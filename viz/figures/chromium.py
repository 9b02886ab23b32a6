"""Which Chromium is taken: to draw images, and by the browser tests, benchmarks and screenshots.

One that another tool has downloaded for itself (Playwright, kaleido) is never taken: its version is nobody's
choice, and would differ from machine to machine.
"""

import os
import shutil

OVERRIDE = "HEADLIGHT_CHROMIUM"
"""The environment variable that names a Chromium or Chrome, by its path or as a program on the PATH."""
PROGRAMS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
"""What is looked for without the variable, in this order: on the PATH, then where macOS has programs."""


def find_chromium() -> str | None:
    """Return the path of the Chromium to take; None if there is none, or none where the variable says."""
    chosen = os.environ.get(OVERRIDE)
    return next((path for name in ([chosen] if chosen else PROGRAMS) if (path := shutil.which(name))), None)
