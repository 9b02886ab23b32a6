"""The benchmark of the app still finds what it clicks and watches, at its smallest size."""

from __future__ import annotations

from playwright.sync_api import Browser

from bench.browser.app_view import measure_app
from bench.browser.shown_attention import measure_all_at_once, measure_notebook
from bench.sentences import random_attention


def test_the_app_is_measured(chromium: Browser, app_url: str) -> None:
    view = measure_app(chromium, app_url, 16, 32, repeats=1)
    for painted in (view.sentence, view.attention, view.head, view.layer):
        assert painted.seconds is not None
        assert 0 < painted.seconds < 60
    assert view.fetched is None, "the browser holds all of a short run"
    assert view.sentence.bytes > 0
    assert 0 < view.hover.told <= view.hover.moved < 60
    assert 0 < view.memory.heap < view.memory.tab
    assert view.page_bytes >= view.sentence.bytes


def test_an_attention_in_a_page_of_its_own_is_measured(chromium: Browser) -> None:
    given = random_attention(6, 8, 40)
    everything = 6 * 8 * 40 * 40 * 4
    notebook = measure_notebook(chromium, *given, repeats=1)
    assert notebook.fetched is not None, "it was large"
    assert notebook.opened.bytes < notebook.page_bytes < everything / 2
    app = measure_all_at_once(chromium, *given, repeats=1)
    assert app.fetched is None
    assert app.opened.bytes == app.page_bytes > everything
    for shown in (notebook, app):
        assert shown.opened.seconds is not None
        assert shown.head.seconds is not None
        assert 0 < shown.head.seconds < 60
        assert 0 < shown.hover.told <= shown.hover.moved < 60
        assert shown.memory.heap > shown.page_bytes
