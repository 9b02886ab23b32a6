"""The Save menu of a figure: made when opened, and honest about what this machine can do."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import open_app, texts
from viz.figures.chromium import OVERRIDE


def with_open_menu() -> AppTest:
    app = open_app("positions", section="Map")
    app.session_state["pe_map_save"] = True
    return app.run()


def offered(app: AppTest) -> list[str]:
    return [button.label for button in app.button if (button.key or "").startswith("pe_map_save_")]


def test_a_closed_menu_costs_nothing() -> None:
    assert offered(open_app("positions", section="Map")) == []


def test_an_open_menu_offers_every_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz.figures.export.find_chromium", lambda: "/chosen/chromium")
    app = with_open_menu()
    assert not app.exception
    assert offered(app) == ["PNG image", "SVG image", "HTML page", "CSV numbers"]


def test_without_a_browser_the_menu_says_so_and_offers_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(OVERRIDE, str(tmp_path / "none"))
    app = with_open_menu()
    assert not app.exception
    assert offered(app) == ["HTML page", "CSV numbers"]
    assert "needs Chromium or Chrome" in texts(app)


def test_a_browser_that_does_not_start_is_told_and_the_menu_stays(
    monkeypatch: pytest.MonkeyPatch, broken_browser: Path
) -> None:
    monkeypatch.setenv(OVERRIDE, str(broken_browser))
    app = with_open_menu()
    app.button(key="pe_map_save_png").click().run()
    assert not app.exception
    assert "This can't be saved." in texts(app)
    assert "ended before" in texts(app)
    assert offered(app) == ["PNG image", "SVG image", "HTML page", "CSV numbers"]
