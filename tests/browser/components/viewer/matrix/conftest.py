"""What the tests of grid and matrix have in common."""

from __future__ import annotations

import pytest

from tests.browser.components.views import APPS
from tests.browser.conftest import Serve


@pytest.fixture(scope="module")
def url(serve: Serve) -> str:
    return serve(APPS / "matrix_app.py")
