"""Back, Forward and addresses: one entry for each visit of a page, and an address restores what it names."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from tests.browser.headlight import TOY, expect_sentence, sentence_box, settle, type_sentence, visit

FIRST, SECOND = "I like the cats.", "My dog sleeps."


def entries(page: Page) -> int:
    return int(page.evaluate("history.length"))


def follow(page: Page, title: str) -> None:
    page.get_by_role("link", name=title, exact=True).click()
    expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
    settle(page)


def choose_layer(page: Page, layer: int) -> None:
    page.get_by_role("combobox", name="Layer").first.click()
    page.get_by_role("option", name=str(layer), exact=True).click()
    settle(page)


def expect_layer(page: Page, layer: int) -> None:
    box = page.get_by_role("combobox", name=re.compile("Layer")).first
    expect(box).to_have_value(str(layer))


def address(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_back_and_forward_go_from_visit_to_visit_and_bring_everything_back(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/{TOY}&layer=99")
    before = entries(page)
    type_sentence(page, FIRST)
    expect_sentence(page, "Ilikethecats.")
    settle(page)
    choose_layer(page, 0)
    assert entries(page) == before, "neither a correction nor a choice is a visit"

    follow(page, "Masks")
    follow(page, "Positions")
    follow(page, "Explore")
    type_sentence(page, SECOND)
    expect_sentence(page, "Mydogsleeps.")
    settle(page)
    choose_layer(page, 1)
    assert entries(page) == before + 3

    page.go_back()
    expect(page.get_by_role("heading", name="Positions", level=1)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Masks", level=1)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Explore", level=1)).to_be_visible()
    expect_sentence(page, "Ilikethecats.")
    expect(sentence_box(page)).to_have_value(FIRST)
    settle(page)
    expect_layer(page, 0)
    assert address(page)["text"] == [FIRST]
    assert address(page)["layer"] == ["0"]

    for title in ("Masks", "Positions", "Explore"):
        page.go_forward()
        expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
    expect_sentence(page, "Mydogsleeps.")
    settle(page)
    expect_layer(page, 1)
    assert entries(page) == before + 3


def test_a_link_that_was_sent_shows_the_same_arithmetic(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/{TOY}&cell=2,1")
    shown = page.get_by_test_id("stMain").inner_text()
    page.locator(".hl-attention_matrix").first.locator("canvas.hl-overlay").click(force=True)
    settle(page)
    assert page.get_by_test_id("stMain").inner_text() != shown
    cell = address(page)["cell"]
    clicked = page.get_by_test_id("stMain").inner_text()
    visit(page, f"{app_url}/{TOY}&cell={cell[0]}")
    assert page.get_by_test_id("stMain").inner_text() == clicked
