"""Every page with models of every kind: what there is to see is shown, and what there is not is said."""

from __future__ import annotations

import pytest

from tests.kinds import KINDS
from tests.pages.app import PAGES, open_app, texts
from tests.pages.offered import BATCH, TEXT, offer


@pytest.fixture(autouse=True)
def _offered(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch.setattr, KINDS)


@pytest.mark.parametrize("page_name", PAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_page_runs(kind: str, page_name: str) -> None:
    app = open_app(page_name, model=kind, text=TEXT, batch=BATCH)
    assert not app.exception
    assert not app.warning
    assert texts(app)
