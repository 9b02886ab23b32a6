"""Back, Forward and addresses: each visit is one history entry, and an address restores its choices."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.headlight import (
    TOY,
    attention,
    choice,
    click_head,
    expect_sentence,
    head_map,
    page_link,
    sentence_box,
    settle,
    type_sentence,
    visit,
)

FIRST, SECOND = "I like the cats.", "My dog sleeps."


def entries(page: Page) -> int:
    return int(page.evaluate("history.length"))


def follow(page: Page, title: str) -> None:
    page_link(page, title).click()
    expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
    settle(page)


def choose_layer(page: Page, layer: int) -> None:
    settle(page)
    click_head(page, layer, 0)
    expect_layer(page, layer)
    settle(page)


def expect_layer(page: Page, layer: int) -> None:
    expect(page.get_by_role("combobox", name="Layer")).to_have_value(str(layer))


def address(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_back_and_forward_go_from_visit_to_visit_and_bring_everything_back(
    open_page: OpenPage, app_url: str
) -> None:
    page = open_page()
    visit(page, f"{app_url}/{TOY}&layer=99")
    before = entries(page)
    type_sentence(page, FIRST)
    expect_sentence(page, "Ilikethecats.")
    choose_layer(page, 1)
    assert entries(page) == before, "neither a correction nor a choice is a visit"

    follow(page, "Scenes")
    follow(page, "Explore")
    type_sentence(page, SECOND)
    expect_sentence(page, "Mydogsleeps.")
    choose_layer(page, 0)
    assert entries(page) == before + 2

    page.go_back()
    expect(page.get_by_role("heading", name="Scenes", level=1)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Explore", level=1)).to_be_visible()
    expect_sentence(page, "Ilikethecats.")
    expect(sentence_box(page)).to_have_value(FIRST)
    settle(page)
    expect_layer(page, 1)
    assert address(page)["text"] == [FIRST]
    assert address(page)["layer"] == ["1"]

    for title in ("Scenes", "Explore"):
        page.go_forward()
        expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
    expect_sentence(page, "Mydogsleeps.")
    settle(page)
    expect_layer(page, 0)
    assert entries(page) == before + 2


@pytest.mark.slow
def test_a_link_that_was_sent_shows_the_same_arithmetic(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/{TOY}&cell=2,1")
    arithmetic = attention(page).locator(".hl-cell")
    assert choice(page)["cell"] == [2, 1]
    shown = arithmetic.inner_text()
    head_map(page).locator("canvas.hl-overlay").click(force=True)
    clicked = choice(page)["cell"]
    assert clicked != [2, 1]
    page.wait_for_function(
        "cell => new URLSearchParams(location.search).get('cell') === cell", arg=f"{clicked[0]},{clicked[1]}"
    )
    settle(page)
    assert arithmetic.inner_text() != shown
    told = arithmetic.inner_text()
    visit(page, page.url)
    assert choice(page)["cell"] == clicked
    expect(arithmetic).to_have_text(told, use_inner_text=True)


@pytest.mark.slow
def test_a_link_that_was_sent_holds_the_same_token(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/{TOY}&view=map&locked=1,2")
    assert attention(page).evaluate("root => root.state().map.locked") == [1, 2]
    attention(page).locator(".hl-map .hl-box").focus()
    page.keyboard.press("Escape")
    page.wait_for_function("() => !new URLSearchParams(location.search).has('locked')")
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    held = choice(page)["locked"]
    assert held is not None
    page.wait_for_function(
        "held => new URLSearchParams(location.search).get('locked') === held", arg=",".join(map(str, held))
    )
    settle(page)
    visit(page, page.url)
    assert attention(page).evaluate("root => root.state().map.locked") == held
