"""Whatever is typed, no page ever shows an exception, and nothing typed becomes Markdown."""

from __future__ import annotations

import pytest

from tests.pages.app import HOSTILE, PAGES, open_app


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", HOSTILE)
def test_no_page_breaks(page: str, name: str) -> None:
    app = open_app(page)
    for box in (*app.text_input, *app.text_area):
        box.set_value(HOSTILE[name])
    app.run()
    assert not app.exception
    assert app.title
