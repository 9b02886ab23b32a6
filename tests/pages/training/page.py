"""The Training page in a test: what a user does and sees there."""

from __future__ import annotations

import time
from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from tests.pages.app import open_app

PATIENCE = 120.0
"""Seconds that a busy machine may need for what normally takes a few."""


def open_training(**address: str) -> AppTest:
    app = open_app("training", **address)
    assert not app.exception
    return app


def wait(app: AppTest, is_so: Callable[[], bool]) -> None:
    """Rerun the page until the condition is true, as its clock does."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.2)
        app.run()
        assert not app.exception


def progress(app: AppTest) -> str:
    return "".join(str(bar.proto.text) for bar in app.get("progress"))
