"""The benchmark of the app still finds what it clicks and watches, at its smallest size."""

from __future__ import annotations

from playwright.sync_api import Browser

from bench.browser.app_view import measure_app


def test_the_app_is_measured(chromium: Browser, app_url: str) -> None:
    view = measure_app(chromium, app_url, 16, 32, repeats=1)
    for painted in (view.sentence, view.head, view.layer):
        assert painted.seconds is not None
        assert 0 < painted.seconds < 60
        assert painted.bytes > 0
    assert view.page_bytes >= view.sentence.bytes
