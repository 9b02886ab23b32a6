"""What the tests of a cell have in common."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.components.views import APPS
from tests.browser.conftest import Serve


@pytest.fixture
def page(page: Page) -> Page:
    """One on which numbers can be copied."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return page


@pytest.fixture(scope="module")
def url(serve: Serve) -> str:
    return serve(APPS / "viewer_app.py")
