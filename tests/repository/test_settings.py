"""Streamlit's settings: private, offline, and in the colours that the figures are drawn in."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from streamlit import config

from viz.theme import ThemeName, palette

SETTINGS = Path(__file__).resolve().parents[2] / ".streamlit" / "config.toml"


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    return tomllib.loads(SETTINGS.read_text(encoding="utf-8"))


def options(table: dict[str, Any], prefix: str = "") -> list[str]:
    """The dotted names of all options of a table."""
    names: list[str] = []
    for name, value in table.items():
        names += options(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]
    return names


def test_streamlit_knows_every_option(settings: dict[str, Any]) -> None:
    assert set(options(settings)) <= set(config.get_config_options())


def test_the_server_is_private(settings: dict[str, Any]) -> None:
    assert settings["browser"]["gatherUsageStats"] is False
    assert settings["server"]["address"] == "127.0.0.1"
    assert settings["server"]["enableCORS"]
    assert settings["server"]["enableXsrfProtection"]


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_page_has_the_colours_of_the_figures(settings: dict[str, Any], name: ThemeName) -> None:
    page, figures = settings["theme"][name], palette(name)
    assert page["backgroundColor"] == figures.background
    assert page["secondaryBackgroundColor"] == figures.surface
    assert page["textColor"] == figures.text
    assert page["primaryColor"] == figures.accent


def test_fonts_are_the_systems(settings: dict[str, Any]) -> None:
    fonts = [settings["theme"]["font"], settings["theme"]["codeFont"]]
    assert all(":" not in font for font in fonts), "an address after a colon would be fetched"
