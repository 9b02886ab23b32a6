"""The app that shows the client-side views, one at a time."""

from __future__ import annotations

import pytest

from tests.browser.components.views import APPS
from tests.browser.conftest import Serve


@pytest.fixture(scope="session")
def url(serve: Serve) -> str:
    return serve(APPS / "views_app.py")
