"""The Decode page in a real browser, as people use it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.components.views import chosen_node, nodes, state
from tests.browser.headlight import TOY, attention, open_section, settle, type_sentence, visit
from tests.browser.test_hostile import MARKUP


def decode(page: Page, app_url: str, address: str = "") -> Locator:
    visit(page, f"{app_url}/decode{TOY}{address}")
    tree = page.locator(".hl-beam_tree")
    expect(tree.locator("svg")).to_be_visible()
    return tree


def test_a_person_walks_a_branch_goes_on_from_it_and_back(page: Page, app_url: str) -> None:
    tree = decode(page, app_url)
    type_sentence(page, "yesterday i saw a raccoon.")
    expect(tree.locator(".hl-ranking .word").first).to_have_text("ieri ho visto un procione.")
    settle(page)
    pruned = nodes(tree, "pruned").nth(2)
    word = pruned.locator("title").text_content()
    pruned.click()
    expect(tree.locator(".hl-node .why")).to_contain_text("lost to")
    settle(page)
    tree.get_by_role("button", name="Continue from here").click()
    expect(page.get_by_text(f"The search starts after: {word}")).to_be_visible()
    settle(page)
    expect(tree.locator(".head", has_text="given")).to_have_count(1)
    page.get_by_role("button", name="Back", exact=True).click()
    expect(page.get_by_text("The search starts after")).to_have_count(0)
    expect(tree.locator(".hl-ranking .word").first).to_have_text("ieri ho visto un procione.")


def test_a_word_of_the_search_is_asked_about_next_to_the_tree(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    tree = decode(page, app_url, "&text=yesterday+i+saw+a+raccoon.")
    tree.locator("g.node", has_text="procione").first.click()
    ask = tree.get_by_role("button", name="Why “\u2068procione\u2069”?")
    expect(ask).to_be_in_viewport(ratio=1)
    settle(page)
    ask.click()
    expect(page.get_by_role("heading", name="Why this word?")).to_be_visible()
    expect(page.get_by_role("radio", name="procione")).to_be_checked()


@pytest.mark.slow
def test_heads_follow_the_step_and_open_large(page: Page, app_url: str) -> None:
    tree = decode(page, app_url)
    tree.get_by_role("slider").fill("4")
    settle(page)
    open_section(page, "Attention")
    rows = attention(page).locator(".hl-token")
    expect(rows.locator("canvas").first).to_be_visible()
    expect(page.get_by_text("Step 3: the decoder's newest input")).to_be_visible()
    settle(page)
    middles = state(attention(page))["rows"]["middles"]
    rows.locator("canvas").first.click(position={"x": 150, "y": middles[0][1][2]})
    attention(page).get_by_role("button", name="One head", exact=True).click()
    large = attention(page).get_by_role("application", name="Cross-attention, layer 1, head 2")
    expect(large).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Open this head on Explore").click()
    expect(page.get_by_role("heading", name="Explore", level=1)).to_be_visible()
    settle(page)
    expect(page.get_by_role("combobox", name="Head")).to_have_value("2")


@pytest.mark.slow
def test_a_link_opens_what_its_sender_saw(page: Page, app_url: str) -> None:
    tree = decode(page, app_url)
    tree.get_by_role("slider").fill("3")
    settle(page)
    chosen = chosen_node(tree)
    open_section(page, "Next token")
    page.locator(".hl-next_tokens").get_by_role("slider").first.fill("39")
    expect(page.get_by_text("A sentence sampled")).to_be_visible()
    expect(page).to_have_url(re.compile(f"(?=.*beam_node={chosen})(?=.*sample_temperature=2.0)"))
    settle(page)
    link = page.url

    page.goto("about:blank")
    visit(page, link)
    expect(page.get_by_text("The distribution of step 2")).to_be_visible()
    assert state(page.locator(".hl-next_tokens"))["settings"]["temperature"] == 2
    open_section(page, "Search")
    expect(tree.locator("output")).to_have_text("step 2 (the last is 7)")
    assert chosen_node(tree) == chosen


@pytest.mark.slow
def test_a_narrow_screen_holds_the_page(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    decode(page, app_url)
    main = page.get_by_test_id("stMain")
    for name in ("Attention", "Next token", "Teacher forcing"):
        open_section(page, name)
        assert main.evaluate("main => main.scrollWidth <= main.clientWidth"), name


@pytest.mark.slow
def test_markup_is_shown_as_it_was_typed(page: Page, app_url: str) -> None:
    """With the model that has a token for every character."""
    visit(page, f"{app_url}/decode?section=Teacher+forcing")
    card = page.get_by_test_id("stMain").get_by_test_id("stVerticalBlock")
    given = card.filter(has_text="Forced: the reference").filter(has_text="log-probability").last
    for text in MARKUP:
        type_sentence(page, text)
        settle(page)
        box = page.get_by_role("textbox", name="Italian reference")
        box.fill(text)
        box.press("Enter")
        expect(given).to_contain_text(text)
        settle(page)
        assert page.locator("main img, main script, main a[href*='example.com']").count() == 0
