"""The parts of the benchmark that need a browser or a server, each run once at its smallest size.

BertViz is opened only where it and npm are installed, as for `make bench`: elsewhere the parts measure
Headlight alone, and no test runs bench/peers/bertviz_page.py to its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import pytest
from playwright.sync_api import Browser

from bench.parts import app, crowd, first_page, notebook
from bench.setting import Setting
from scripts.browser import ROOT, server_process


class Shared(Setting):
    """One browser and one server for all parts: starting them takes longest."""

    def __init__(self, browser: Browser, server: tuple[str, int]) -> None:
        super().__init__(smallest=True)
        self._browser, self._server = browser, server

    @contextmanager
    def browser(self) -> Iterator[Browser]:
        yield self._browser

    def server(self, workers: int = 0) -> AbstractContextManager[tuple[str, int]]:
        assert not workers, "the smallest benchmark needs no proxy"
        return nullcontext(self._server)


@pytest.fixture(scope="module")
def setting(chromium: Browser) -> Iterator[Setting]:
    with server_process(ROOT / "app.py") as server:
        yield Shared(chromium, server)


def test_the_first_page(setting: Setting) -> None:
    for number, visit in enumerate(first_page.measure(setting)):
        assert visit.visitor == number
        assert 0 < visit.frame < visit.usable < 60


def test_a_crowd(setting: Setting) -> None:
    [alone] = crowd.measure(setting)
    assert (alone.people, alone.sentences) == (1, 1)
    assert 0 < alone.median_wait == alone.wait_of_95_in_100 < 60
    assert alone.processor_per_sentence > 0


def test_the_app(setting: Setting) -> None:
    [view] = app.measure(setting)
    for painted in (view.sentence, view.attention, view.head, view.layer):
        assert painted.seconds is not None
        assert 0 < painted.seconds < 60
    assert view.fetched_head is None, "the browser has all of a short run"
    assert 0 < view.sentence.bytes <= view.in_all
    assert 0 < view.hover.told <= view.hover.moved < 60
    assert 0 < view.memory.heap < view.memory.tab
    assert view.theirs is not None
    assert (view.times_sooner is None) == (view.theirs.opened.seconds is None) == bool(view.theirs.opened.why)


def test_an_attention_in_a_page_of_its_own(setting: Setting) -> None:
    as_notebook, at_once = notebook.measure(setting)
    everything = 6 * 8 * 40 * 40 * 4
    assert as_notebook.fetched_head is not None, "it was large"
    assert as_notebook.opened.bytes < as_notebook.in_all < everything / 2
    assert as_notebook.model_view is not None
    assert as_notebook.head_view is not None
    assert at_once.fetched_head is None
    assert at_once.opened.bytes == at_once.in_all > everything
    for shown in (as_notebook, at_once):
        assert shown.opened.seconds is not None
        assert shown.head.seconds is not None
        assert 0 < shown.head.seconds < 60
        assert 0 < shown.hover.told <= shown.hover.moved < 60
        assert shown.memory.heap > shown.in_all
