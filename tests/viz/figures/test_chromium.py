"""Which Chromium is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from viz.figures.chromium import OVERRIDE, find_chromium


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder for programs, the only one on the PATH."""
    monkeypatch.delenv(OVERRIDE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("viz.figures.chromium.PROGRAMS", ("chromium", "google-chrome"))
    return tmp_path


def install(folder: Path, name: str) -> str:
    program = folder / name
    program.touch(mode=0o755)
    return str(program)


def test_the_systems_own_is_taken_chromium_before_chrome(installed: Path) -> None:
    assert find_chromium() is None
    chrome = install(installed, "google-chrome")
    assert find_chromium() == chrome
    chromium = install(installed, "chromium")
    assert find_chromium() == chromium


def test_the_variable_comes_first(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(installed, "chromium")
    other = install(installed, "other")
    for name in ("other", other):
        monkeypatch.setenv(OVERRIDE, name)
        assert find_chromium() == other


def test_where_the_variable_names_none_no_other_is_taken(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(installed, "chromium")
    monkeypatch.setenv(OVERRIDE, str(installed / "none"))
    assert find_chromium() is None
