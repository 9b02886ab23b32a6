"""How `make test` distributes the tests over its processes: by file, the longest first."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

TESTS = Path(__file__).parent.parent
LONG_FIRST = ("browser", "transformer", "scripts", "bench", "pages")
"""Folders, those with the slowest files first; a file of any other folder takes a second or two."""


class TwoBrowsers(LoadFileScheduling):
    """Browser tests go to two processes, each with its own Chromium and servers.

    One gets the tests of the views, whose servers are small scripts; the other gets those of the app.
    """

    def _split_scope(self, nodeid: str) -> str:
        if not nodeid.startswith("tests/browser/"):
            return super()._split_scope(nodeid)
        return "views" if nodeid.startswith("tests/browser/components/") else "app"


def long_first(item: pytest.Item) -> int:
    """Sort key of a test: the rank of its folder."""
    folder = item.path.relative_to(TESTS).parts[0]
    return LONG_FIRST.index(folder) if folder in LONG_FIRST else len(LONG_FIRST)
