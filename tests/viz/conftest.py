"""Fixtures for the client-side views as Python sees them."""

from __future__ import annotations

import pytest

from tests.viz.mounted import Mounted
from viz.components.shared.client_view import ClientView


@pytest.fixture
def mounted(monkeypatch: pytest.MonkeyPatch) -> Mounted:
    view = Mounted()

    def mount(self: ClientView, frame: bytes, **options: object) -> None:
        view.__dict__.update(options, frame=frame)

    monkeypatch.setattr(ClientView, "mount", mount)
    monkeypatch.setattr(ClientView, "show", mount)
    return view
