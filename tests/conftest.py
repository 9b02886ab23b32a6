"""Settings for all tests: one PyTorch thread a process, the same hypothesis examples in every CI run."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

# Before torch is imported: the tests run in as many processes as there are cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from tests.support.scheduling import FewBrowsers, long_first
from viz.figures.chromium import find_chromium
from viz.warm_up import settle

settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


def pytest_report_header() -> str:
    """Say which Chromium is taken: a newer or older one draws and scrolls in its own way."""
    path = find_chromium()
    if path is None:
        return "chromium: none"
    told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)
    return f"chromium: {path}, {told.stdout.strip() or 'which does not tell its version'}"


@pytest.fixture
def broken_browser(tmp_path: Path) -> Path:
    """A program that ends as soon as it is started."""
    path = tmp_path / "broken-browser"
    path.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long: begun last, it would leave the other processes idle."""
    items.sort(key=long_first)


def pytest_collection_finish() -> None:
    """Take the libraries that the tests have loaded out of Python's search for garbage, as the server does.

    Streamlit has it search after every run of a page, which takes longer than the page.
    """
    settle()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FewBrowsers:
    """Share the tests between processes in a way of our own."""
    return FewBrowsers(config, log)


@pytest.fixture(autouse=True)
def main_module_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """An app in a test puts its script in the place of __main__, which a new process would then run again."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
