"""What people may type is shown as text: never run, never fetched, never an exception."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import guarded_page
from tests.browser.guard import Guard
from tests.browser.headlight import (
    TOY,
    expect_sentence,
    sentence_box,
    settle,
    source_tokens,
    type_sentence,
    visit,
)

MARKUP = {
    "script": "<script>alert(1)</script>",
    "picture that runs a script": "<img src=x onerror=alert(1)>",
    "bold": "<b>cat</b>",
    "formula": "$x$ and $$y$$",
    "directive": ":red[a] :material/home: :smile:",
    "remote picture": "![](http://example.com/x.png)",
    "link": "[cat](http://example.com)",
    "entity": "&lt;b&gt; &nbsp;",
    "number": "2024",
    "repeated": "the the the the",
}
ODD = {
    "emoji": "i saw a 🦝 👩‍👩‍👧‍👦 yesterday",
    "right to left": "i saw \u202eraccoon\u202c שלום مرحبا",
    "zero width": "rac\u200bcoon \u200d\u2060 cat",
    "control": "cat\x07\x1b[31m dog",
    "endless word": "a" * 240,
}
WORDLESS = {"empty": "", "blank": "   "}


@pytest.fixture(scope="module", params=["", TOY], ids=["sub-words", "words"])
def opened(request: pytest.FixtureRequest, chromium: Browser, app_url: str) -> Iterator[tuple[Page, Guard]]:
    """Explore with a model, opened once: a user types one sentence after another."""
    with guarded_page(chromium) as (page, guard):
        visit(page, f"{app_url}/{request.param}")
        yield page, guard


@pytest.fixture
def explore(opened: tuple[Page, Guard]) -> Iterator[Page]:
    """The page with a sentence of words, whatever was typed before."""
    page, guard = opened
    type_sentence(page, "yesterday.")
    expect_sentence(page, "yesterday.")
    yield page
    guard.check()


@pytest.mark.parametrize("name", MARKUP)
def test_markup_is_shown_as_it_was_typed(explore: Page, name: str) -> None:
    page = explore
    type_sentence(page, MARKUP[name])
    expect_sentence(page, "".join(MARKUP[name].split()))
    settle(page)
    assert page.locator("main img, main b, main a[href*='example.com']").count() == 0


@pytest.mark.parametrize("name", ODD)
def test_odd_characters_break_nothing(explore: Page, name: str) -> None:
    page = explore
    before = source_tokens(page).first.inner_text()
    type_sentence(page, ODD[name])
    expect(source_tokens(page).first).not_to_have_text(before)
    settle(page)
    shown = "".join(source_tokens(page).all_inner_texts())
    assert not {"\u202e", "\u202c", "\u200b", "\x07", "\x1b"} & set(shown)


@pytest.mark.parametrize("name", WORDLESS)
def test_without_words_the_page_asks_for_some(page: Page, app_url: str, name: str) -> None:
    visit(page, app_url)
    type_sentence(page, WORDLESS[name])
    expect(page.get_by_text("has no words: type at least one")).to_be_visible()
    settle(page)


def test_half_a_character_is_replaced(page: Page, app_url: str) -> None:
    visit(page, app_url)
    settle(page)  # the script that mends it has been loaded
    sentence_box(page).fill("cat")
    page.evaluate("document.execCommand('insertText', false, ' ' + String.fromCharCode(0xD800) + ' dog')")
    sentence_box(page).press("Enter")
    expect_sentence(page, "cat\ufffddog")
    settle(page)
