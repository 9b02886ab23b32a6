"""The token that is chosen on Explore: every view of the page shows it, and every view can choose it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.components.views import choose, matrix_state, picker, press
from tests.browser.headlight import TOY, attention, choice, settle, visit

SOURCE = "yesterday i saw a raccoon."
TARGET = ["ieri", "ho", "visto", "un", "procione", "."]
RACCOON, PROCIONE = 4, TARGET.index("procione")
HIGHEST = 330
"""Pixels above the pictures at most, in a window of 1400 x 900."""


@pytest.fixture
def explored(page: Page, app_url: str) -> Page:
    visit(page, f"{app_url}/{TOY}&text={SOURCE}")
    return page


def written(page: Page, word: str) -> Locator:
    """A token of the output above the pictures."""
    output = attention(page).get_by_role("group", name="The output: choose a token")
    return output.get_by_role("button", name=word, exact=True)


def step(page: Page, word: str) -> Locator:
    return page.locator(".hl-decoding_steps").get_by_role("option").filter(has_text=word)


def read(page: Page, position: int) -> Locator:
    """A token of the source."""
    return page.locator(".hl-token_strip .hl-token").nth(position)


def expect_in_address(page: Page, cell: str | None) -> None:
    """Wait until the address has this cell; None for no cell."""
    page.wait_for_function("cell => new URLSearchParams(location.search).get('cell') === cell", arg=cell)


def why(page: Page, word: str = "") -> Locator:
    """The button that asks why the model wrote a word, or any word."""
    name = f"Why “\u2068{word}\u2069”?" if word else re.compile("^Why “")
    return page.get_by_role("button", name=name)


def top_of_pictures(page: Page) -> float:
    box = attention(page).locator("canvas").filter(visible=True).first.bounding_box()
    assert box is not None
    return box["y"]


def expect_chosen(page: Page, position: int) -> None:
    """Check that every view shows the token that the model writes at this position."""
    word = TARGET[position]
    expect(written(page, word)).to_have_attribute("aria-pressed", "true")
    expect(step(page, word)).to_have_attribute("aria-selected", "true")
    row, column = choice(page)["cell"]
    assert row == position
    assert matrix_state(attention(page))["selected"] == [row, column]
    predicted = attention(page).locator(".hl-predicted")
    expect(predicted).to_contain_text(TARGET[position - 1])
    expect(predicted.locator(".taken .word")).to_have_text(word)
    expect_in_address(page, f"{row},{column}")


def test_a_token_of_the_output_is_chosen_in_every_view_and_escape_frees_it(explored: Page) -> None:
    page = explored
    written(page, "procione").click()
    expect_chosen(page, PROCIONE)
    expect(read(page, choice(page)["cell"][1])).to_contain_class("chosen")
    page.keyboard.press("ArrowLeft")
    expect_chosen(page, PROCIONE - 1)
    page.keyboard.press("Escape")
    expect(page.locator(".hl-words [aria-pressed=true], .hl-token.chosen")).to_have_count(0)
    assert (choice(page)["cell"], choice(page)["locked"]) == (None, None)
    expect_in_address(page, None)


def test_before_a_choice_the_steps_show_what_the_pictures_are_about(explored: Page) -> None:
    page = explored
    row, _ = matrix_state(attention(page))["selected"]
    assert choice(page)["cell"] is None
    assert row > 0, "or the first step is shown anyway"
    expect(step(page, TARGET[row])).to_have_attribute("aria-selected", "true")
    expect(attention(page).locator(".hl-predicted .taken .word")).to_have_text(TARGET[row])


def test_a_step_and_a_source_token_choose_their_row_and_their_column(explored: Page) -> None:
    page = explored
    step(page, "visto").click()
    expect_chosen(page, TARGET.index("visto"))
    read(page, RACCOON).click()
    expect(read(page, RACCOON)).to_contain_class("chosen")
    assert choice(page)["cell"][1] == RACCOON
    expect_chosen(page, choice(page)["cell"][0])


def test_the_chosen_token_is_that_of_one_token_in_every_head(explored: Page) -> None:
    page, view = explored, attention(explored)
    written(page, "procione").click()
    press(view, "One token")
    heading = view.locator(".hl-token .hl-heading")
    for name, option in (("Head", "1"), ("Layer", "0"), ("Which attention", "decoder")):
        choose(view, name, option)
        expect(heading).to_contain_text(f"position {PROCIONE}")
        expect(picker(view, "Token")).to_have_value(str(PROCIONE))
        expect(written(page, "procione")).to_have_attribute("aria-pressed", "true")
    choose(view, "Token", "2")
    expect(written(page, TARGET[2])).to_have_attribute("aria-pressed", "true")
    settle(page)


@pytest.mark.parametrize("width, height", [(1400, 900), (400, 800)])
def test_the_chosen_word_is_asked_about_next_to_it_and_nothing_moves(
    page: Page, app_url: str, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    visit(page, app_url)
    top = top_of_pictures(page)
    assert width < 1400 or top <= HIGHEST
    for token, word in (("la", "la"), ("attra", "attraversato"), ("<eos>", "<eos>")):
        written(page, token).click()
        expect(why(page, word)).to_be_in_viewport(ratio=1)
        assert why(page, word).evaluate("button => button.scrollWidth <= button.clientWidth"), "all of it"
        assert top_of_pictures(page) == top
    settle(page)
    assert top_of_pictures(page) == top


def test_by_keyboard_from_a_word_to_the_page_why_and_back(explored: Page) -> None:
    page = explored
    written(page, "procione").click()
    expect_in_address(page, f"{PROCIONE},{choice(page)['cell'][1]}")
    settle(page)
    page.keyboard.press("Tab")
    expect(why(page, "procione")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Why this word?")).to_be_visible()
    expect(page.get_by_role("radio", name="procione")).to_be_checked()
    settle(page)
    page.go_back()
    expect(why(page, "procione")).to_be_visible()


def test_a_token_that_is_no_word_of_the_output_is_not_asked_about(explored: Page) -> None:
    page = explored
    expect(why(page)).to_be_visible()
    choose(attention(page), "Which attention", "encoder")
    read(page, RACCOON).click()
    expect(read(page, RACCOON)).to_contain_class("chosen")
    expect(why(page)).to_have_count(0)
    written(page, "visto").click()
    expect(why(page, "visto")).to_be_visible()
