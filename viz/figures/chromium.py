"""Find the Chromium that draws images and runs browser tests, benchmarks and screenshots.

A Chromium that another tool (Playwright, kaleido) has downloaded for itself is never used: its version would
differ from machine to machine.
"""

import os
import shutil

OVERRIDE = "HEADLIGHT_CHROMIUM"
"""The environment variable that names a Chromium or Chrome, as a path or as a program on the PATH."""
PROGRAMS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
"""Candidates if the variable is not set, in this order: programs on the PATH, then macOS applications."""


def find_chromium() -> str | None:
    """Return the path of the Chromium to use; None if there is none, or the variable names none."""
    chosen = os.environ.get(OVERRIDE)
    return next((path for name in ([chosen] if chosen else PROGRAMS) if (path := shutil.which(name))), None)
