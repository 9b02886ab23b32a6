"""What several pages' tests need."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner

from tests.pages.checkpoint.page import PATH, start
from tests.pages.offered import offer
from tests.pages.views import Views
from tests.support.kinds import KINDS

# Each AppTest looks for components in the metadata of every installed package: half of a page's time.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(scope="module")
def nothing_is_left_open() -> Iterator[None]:
    """To Streamlit the apps of all tests are one user: the next module is to find nothing open."""
    main = sys.modules["__main__"]
    yield
    start(PATH)
    sys.modules["__main__"] = main  # as tests/conftest.py does after each test


@pytest.fixture
def views(monkeypatch: pytest.MonkeyPatch) -> Views:
    """What the pages give to the views that the browser draws."""
    return Views(monkeypatch)


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The picker offers a model of every kind."""
    offer(monkeypatch.setattr, KINDS)
