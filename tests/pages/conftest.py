"""Fixtures for the tests of several pages."""

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
    """Streamlit treats the apps of all tests as one user; the next module must find nothing open."""
    main = sys.modules["__main__"]
    yield
    start(PATH)
    sys.modules["__main__"] = main  # as tests/conftest.py does after each test


@pytest.fixture
def views(monkeypatch: pytest.MonkeyPatch) -> Views:
    """The data that pages give to the views in the browser."""
    return Views(monkeypatch)


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the picker offer a model of every kind."""
    offer(monkeypatch.setattr, KINDS)
