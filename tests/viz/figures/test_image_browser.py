"""The browser that draws images is started once, replaced when it has ended, and closed when it is unused."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from kaleido.errors import BrowserClosedError

from viz.figures.image_browser import ImageBrowser

LIMIT_SECONDS = 30.0


class Process:
    """A process that runs until it is told otherwise."""

    def __init__(self) -> None:
        self.status: int | None = None

    def poll(self) -> int | None:
        return self.status


class Kaleido:
    """Stands in for kaleido's browser: an image is its number and the figure's name."""

    started: list[Kaleido]

    def __init__(self, **settings: object) -> None:
        self.settings, self.subprocess = settings, Process()
        self.is_open, self.closed = threading.Event(), threading.Event()

    async def open(self) -> None:
        self.started.append(self)
        self.is_open.set()

    async def close(self) -> None:
        self.closed.set()

    async def calc_fig(self, figure: dict[str, Any], opts: object) -> bytes:
        if figure["name"] == "crash":
            self.subprocess.status = 1
            raise ConnectionError
        return f"{self.started.index(self)} {figure['name']} {opts}".encode()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Kaleido]:
    monkeypatch.setattr(Kaleido, "started", [], raising=False)
    monkeypatch.setattr("kaleido.Kaleido", Kaleido)
    return Kaleido.started


def test_one_browser_without_mathjax_draws_all_images(started: list[Kaleido]) -> None:
    browser = ImageBrowser()
    browser.start("/a")
    assert browser.draw("/a", {"name": "x"}, {"scale": 1}) == b"0 x {'scale': 1}"
    assert browser.draw("/a", {"name": "y"}, {}) == b"0 y {}"
    assert [one.settings for one in started] == [{"n": 1, "mathjax": False, "path": "/a"}]


def test_a_browser_that_ended_is_replaced(started: list[Kaleido]) -> None:
    browser = ImageBrowser()
    with pytest.raises(BrowserClosedError):
        browser.draw("/a", {"name": "crash"}, {})
    assert started[0].closed.is_set()
    assert browser.draw("/a", {"name": "x"}, {}) == b"1 x {}"
    started[1].subprocess.status = 1
    assert browser.draw("/a", {"name": "x"}, {}) == b"2 x {}"


def test_an_unused_browser_is_closed(started: list[Kaleido]) -> None:
    browser = ImageBrowser(idle_seconds=0)
    browser.draw("/a", {"name": "x"}, {})
    assert started[0].closed.wait(LIMIT_SECONDS)
    assert browser.draw("/a", {"name": "x"}, {}) == b"1 x {}"
