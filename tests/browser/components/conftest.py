"""What the tests of the client-side views have in common: the page, and the app that shows the views."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.components.views import APPS
from tests.browser.conftest import Serve


@pytest.fixture
def page(kept_page: Page) -> Page:
    """The same for all tests of a file."""
    return kept_page


@pytest.fixture(scope="module")
def url(serve: Serve) -> str:
    """The app of the tests, with the views that have no app of their own."""
    return serve(APPS / "components_app.py")
