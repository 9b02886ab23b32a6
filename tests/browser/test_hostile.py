"""Whatever users type is shown as text: it is never run or fetched, and never raises an exception."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.headlight import (
    TOY,
    expect_sentence,
    sentence_box,
    settle,
    source_tokens,
    type_sentence,
    visit,
)

MARKUP = (
    "<script>alert(1)</script> :red[a] :material/home: :smile: [cat](http://example.com) the the the the",
    "<img src=x onerror=alert(1)> $x$ and $$y$$ &lt;b&gt; &nbsp;",
    "<b>cat</b> ![](http://example.com/x.png) 2024",
)
"""Scripts, pictures, markup, directives, links, formulas and entities."""
ODD = (
    "i saw a 🦝 👩‍👩‍👧‍👦 yesterday",
    "i saw \u202eraccoon\u202c שלום مرحبا",
    "rac\u200bcoon \u200d\u2060 cat",
    "cat\x07\x1b[31m dog",
    "a" * 240,
)
"""Emoji, right-to-left text, zero-width and control characters, an endless word."""
MODELS = pytest.mark.parametrize(
    "model", ["", pytest.param(TOY, marks=pytest.mark.slow)], ids=["sub-words", "words"]
)


@MODELS
def test_markup_is_shown_as_it_was_typed(page: Page, app_url: str, model: str) -> None:
    visit(page, f"{app_url}/{model}")
    for text in MARKUP:
        type_sentence(page, text)
        expect_sentence(page, "".join(text.split()))
        settle(page)
        assert page.locator("main img, main b, main a[href*='example.com']").count() == 0


@pytest.mark.slow
@MODELS
def test_odd_characters_break_nothing(page: Page, app_url: str, model: str) -> None:
    visit(page, f"{app_url}/{model}")
    for text in ODD:
        type_sentence(page, "yesterday.")
        expect_sentence(page, "yesterday.")
        before = source_tokens(page).first.inner_text()
        type_sentence(page, text)
        expect(source_tokens(page).first).not_to_have_text(before)
        settle(page)
        shown = "".join(source_tokens(page).all_inner_texts())
        assert not {"\u202e", "\u202c", "\u200b", "\x07", "\x1b"} & set(shown)


@pytest.mark.slow
def test_without_words_the_page_asks_for_some(page: Page, app_url: str) -> None:
    visit(page, app_url)
    for text in ("", "   "):
        type_sentence(page, "yesterday.")
        expect_sentence(page, "yesterday.")
        type_sentence(page, text)
        expect(page.get_by_text("has no words: type at least one")).to_be_visible()
        settle(page)


@pytest.mark.slow
def test_half_a_character_is_replaced(page: Page, app_url: str) -> None:
    visit(page, app_url)
    settle(page)  # the script that repairs it is now loaded
    sentence_box(page).fill("cat")
    page.evaluate("document.execCommand('insertText', false, ' ' + String.fromCharCode(0xD800) + ' dog')")
    sentence_box(page).press("Enter")
    expect_sentence(page, "cat\ufffddog")
    settle(page)
