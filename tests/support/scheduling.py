"""How `make test` shares the tests between its processes: all of a file in one, the long ones first."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

TESTS = Path(__file__).parent.parent
LONG_FIRST = ("browser", "transformer", "scripts", "bench", "pages")
"""Folders by how long a file of them takes; what is left for the end takes a second or two each."""


class FewBrowsers(LoadFileScheduling):
    """The browser tests in two processes, one for the shaking: each has an app and a Chromium of its own."""

    def _split_scope(self, nodeid: str) -> str:
        is_shared = nodeid.startswith("tests/browser/") and "test_shaken" not in nodeid
        return "browser" if is_shared else super()._split_scope(nodeid)


def long_first(item: pytest.Item) -> int:
    """Rank a test by its folder; to be sorted by."""
    folder = item.path.relative_to(TESTS).parts[0]
    return LONG_FIRST.index(folder) if folder in LONG_FIRST else len(LONG_FIRST)
