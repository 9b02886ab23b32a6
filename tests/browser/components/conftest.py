"""What the tests of the client-side views have in common: the page, and the app that shows the views."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.components.views import APPS
from tests.browser.conftest import Serve


@pytest.fixture
def page(kept_page: Page) -> Page:
    """The same for all tests of the views."""
    return kept_page


@pytest.fixture(scope="session")
def url(serve: Serve) -> str:
    """The app that shows one view at a time."""
    return serve(APPS / "views_app.py")
