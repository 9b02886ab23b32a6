"""For tests that need what a machine may lack: Chromium, node, an installed Headlight."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """Skip the test, or fail it in CI, where nothing may be missing."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
