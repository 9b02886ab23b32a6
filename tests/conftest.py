"""Settings for all tests: one PyTorch thread per process, one seed for all random draws."""

import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

# Set before torch is imported: the tests run in as many processes as there are cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from tests.support.scheduling import TwoBrowsers, long_first
from viz.figures.chromium import find_chromium
from viz.warm_up import settle

DEFAULT_SEED = 0 if os.environ.get("CI") else secrets.randbits(32)
SEED = int(os.environ.setdefault("HEADLIGHT_SEED", str(DEFAULT_SEED)))
"""Seed of all random draws, including Hypothesis's. The other processes of a run inherit it."""

settings.register_profile("headlight", deadline=None, print_blob=True)
settings.load_profile("headlight")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give Hypothesis the seed of the run."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_report_header() -> list[str]:
    """Report the seed, and the Chromium: versions differ in how they draw and scroll."""
    return [f"seed: {SEED} (HEADLIGHT_SEED={SEED} draws the same again)", f"chromium: {chromium_version()}"]


def chromium_version() -> str:
    """Path and version of the Chromium that the browser tests start."""
    path = find_chromium()
    if path is None:
        return "none"
    printed = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)
    return f"{path}, {printed.stdout.strip() or 'of unknown version'}"


@pytest.fixture
def seed() -> int:
    """Seed of this run, for a test that draws at random."""
    return SEED


@pytest.fixture
def broken_browser(tmp_path: Path) -> Path:
    """A program that exits at once."""
    path = tmp_path / "broken-browser"
    path.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests first: started last, they would leave the other processes idle."""
    items.sort(key=long_first)


def pytest_collection_finish() -> None:
    """Exclude the loaded libraries from Python's garbage collection, as the server does.

    Streamlit collects garbage after every run of a page, which takes longer than the page.
    """
    settle()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> TwoBrowsers:
    """Distribute the tests between processes with our own scheduler."""
    return TwoBrowsers(config, log)


@pytest.fixture(autouse=True)
def main_module_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore `__main__`: an app in a test puts its script there, which a new process would run again."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
