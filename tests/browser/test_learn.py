"""Lessons in a browser: predictions by mouse and keys, explained terms, saved files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import OpenPage
from tests.browser.headlight import attention, settle, type_sentence, visit, wait_until
from tests.pages.learn.lessons.subjects import SENTENCES, subject
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.computed.row import row_of
from viz.pages.learn.lessons.files.worksheet import worksheet
from viz.text_session import DEFAULT_SENTENCE

TERM = "#headlight-term"
PAPER = 657
"""Width of A4 within the sheet's margins of 18 mm, in pixels, of which an inch has 96."""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
OUTSIDE = """
[...document.querySelectorAll("body *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 0.5)
  .map(({ outerHTML }) => outerHTML.slice(0, 80))
"""
TAP = """
(link) => {
  const touch = { pointerType: "touch", bubbles: true };
  link.dispatchEvent(new PointerEvent("pointerover", touch));
  link.dispatchEvent(new PointerEvent("pointerdown", touch));
  link.focus();
  link.click();
}
"""
CLICK_AND_RELEASE = "(link) => { link.click(); setTimeout(() => dispatchEvent(new Event('keyup'))); }"
"""Releases a key after the click is reported and before the browser sends its message."""
TOP_OF_STEPS = "document.querySelector('.st-key-step').getBoundingClientRect().top"


def board(page: Page) -> Locator:
    return page.locator(".hl-prediction").first


def places(page: Page) -> Locator:
    return board(page).get_by_role("button")


def explained(page: Page, term: str) -> Locator:
    return page.locator("main").get_by_role("link", name=term, exact=True).first


def heading(page: Page, name: str) -> Locator:
    return page.get_by_role("heading", name=name)


def test_a_prediction_by_mouse_is_shown_beside_what_is(page: Page, app_url: str) -> None:
    row = row_of(subject("en-it", DEFAULT_SENTENCE))
    assert row.first != 0, "or the prediction is right"
    visit(page, f"{app_url}/learn?lesson=one-head")
    expect(board(page)).not_to_contain_text("0.")
    places(page).nth(0).click()
    expect(page.get_by_text("You said")).to_be_visible()
    expect(places(page).nth(0)).to_have_accessible_name(
        re.compile(rf"position 0: attention weight {row.weights[0]:.4f}: your prediction$")
    )
    expect(board(page).locator(".right")).to_contain_text("✓")
    expect(page.locator(".hl-attention")).to_be_visible()


@pytest.mark.slow
def test_a_prediction_can_be_made_by_keys_alone(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/learn?lesson=one-head")
    places(page).nth(0).focus()
    page.keyboard.press("ArrowRight")
    expect(places(page).nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("You said")).to_be_visible()
    expect(places(page).nth(1)).to_have_attribute("aria-pressed", "true")


def test_a_presenter_steps_through_a_lesson_and_each_step_is_read_from_its_beginning(
    page: Page, app_url: str
) -> None:
    visit(page, f"{app_url}/learn?lesson=one-head&answers=true")
    page.get_by_role("button", name="Next").scroll_into_view_if_needed()
    page.keyboard.press("PageDown")
    expect(heading(page, "The score: query times key")).to_be_visible()
    settle(page)
    top = page.evaluate(TOP_OF_STEPS)
    assert 0 <= top < 200, top
    page.keyboard.press("PageUp")
    expect(heading(page, "Every token asks, every token answers")).to_be_visible()


@pytest.mark.slow
def test_from_a_lesson_to_the_next_one(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/learn?lesson=tokens&step=To+take+away")
    page.get_by_role("button", name="Lesson 2: Where a token stands").click()
    expect(heading(page, "2. Where a token stands")).to_be_visible()
    settle(page)
    expect(page.get_by_role("radio", name="1", exact=True)).to_be_checked()


@pytest.mark.slow
def test_the_arrow_keys_in_a_box_are_the_boxs_own(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/learn?lesson=tokens")
    page.get_by_label("Your answer: tokens").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("PageDown")  # a press that also changed the step would go one step too far
    expect(heading(page, "From ids to vectors")).to_be_visible()
    settle(page)
    expect(page.get_by_role("radio", name="2", exact=True)).to_be_checked()


def test_a_term_is_explained_where_it_stands(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/learn?lesson=one-head")
    query = explained(page, "query")
    query.hover()
    expect(page.locator(TERM)).to_contain_text("The vector with which a token looks")
    expect(query).to_have_accessible_description(re.compile("^The vector with which a token looks"))
    page.locator(TERM).hover()
    expect(page.locator(TERM)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(TERM)).not_to_be_visible()
    explained(page, "key").focus()
    expect(page.locator(TERM)).to_contain_text("The vector by which a token is found")
    # As when the Tab key has scrolled to it.
    page.evaluate("document.querySelector('main').dispatchEvent(new Event('scroll'))")
    expect(page.locator(TERM)).to_be_visible()
    heading(page, "3. One head by hand").hover()
    expect(page.locator(TERM)).to_be_visible()


@pytest.mark.slow
def test_a_term_in_the_viewer_is_explained_too(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/explore")
    softmax = attention(page).get_by_role("link", name="softmax", exact=True)
    softmax.focus()
    expect(page.locator(TERM)).to_contain_text("Turns scores into positive numbers that sum to 1")
    softmax.press("Enter")
    expect(heading(page, "4. Why divide by √d_head?")).to_be_visible()
    settle(page)


@pytest.mark.slow
def test_a_term_leads_to_its_lesson_with_the_same_sentence(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/layer-norm")
    type_sentence(page, "I like the cats.")
    settle(page)
    explained(page, "residual stream").focus()
    page.keyboard.press("Enter")
    expect(heading(page, "7. The residual stream")).to_be_visible()
    settle(page)
    expect(page.get_by_role("textbox", name="English sentence")).to_have_value("I like the cats.")
    explained(page, "embedding").click()
    expect(heading(page, "1. Tokens, ids, embeddings")).to_be_visible()
    settle(page)


@pytest.mark.slow
def test_a_key_released_while_its_lesson_is_asked_for_does_not_lead_back(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/layer-norm")
    explained(page, "residual stream").evaluate(CLICK_AND_RELEASE)
    expect(heading(page, "7. The residual stream")).to_be_visible()
    settle(page)
    expect(page).to_have_url(re.compile("/learn"))
    expect(heading(page, "7. The residual stream")).to_be_visible()


@pytest.mark.slow
def test_a_tap_explains_a_term_and_the_next_one_opens_its_lesson(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/masks")
    padding = explained(page, "padding")
    padding.scroll_into_view_if_needed()  # scrolling the page closes an open explanation
    padding.evaluate(TAP)
    expect(page.locator(TERM)).to_contain_text("Tokens that fill the shorter sentences")
    expect(page).to_have_url(f"{app_url}/masks")
    padding.evaluate(TAP)
    expect(heading(page, "6. Masks: what must not be seen")).to_be_visible()
    settle(page)


@pytest.mark.slow
def test_a_click_on_a_term_before_the_script_is_there_is_not_lost(open_page: OpenPage, app_url: str) -> None:
    page = open_page()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/bridge.js", hold)
    page.goto(f"{app_url}/masks")
    explained(page, "padding").click()
    wait_until(page, lambda: bool(held), "the script was never asked for")
    for route in held:
        route.continue_()
    expect(heading(page, "6. Masks: what must not be seen")).to_be_visible()
    settle(page)
    assert "#" not in page.url


@pytest.mark.slow
def test_answers_come_back_from_their_file(open_page: OpenPage, app_url: str, tmp_path: Path) -> None:
    page = open_page()
    visit(page, f"{app_url}/learn?lesson=tokens&text=I+like+the+cats.")
    page.get_by_label("Your answer: tokens").fill("3")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.get_by_text("You said")).to_be_visible()
    page.get_by_role("button", name="All lessons").click()
    page.get_by_text("Come back another day").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save my answers (1)").click()
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    settle(page)
    assert json.loads(saved.read_text(encoding="utf-8"))["answers"][0]["answer"] == 3

    other = open_page()
    visit(other, f"{app_url}/learn")
    other.get_by_text("Come back another day").click()
    other.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(saved)
    other.get_by_role("button", name="Open them").click()
    expect(other.get_by_text("1 of 4 steps")).to_be_visible()
    other.locator(".st-key-begin-tokens").get_by_role("button").click()
    settle(other)
    other.get_by_role("radio", name="1", exact=True).click()
    expect(other.get_by_text("You said")).to_be_visible()
    expect(other.get_by_role("textbox", name="English sentence")).to_have_value("I like the cats.")


@pytest.mark.slow
def test_a_lesson_is_saved(page: Page, app_url: str, tmp_path: Path) -> None:
    visit(page, f"{app_url}/learn?lesson=scale")
    page.locator(".st-key-save_lesson").get_by_role("button", name="Save").click()
    for name, begin in (("Worksheet", "<!doctype html>"), ("Notebook", "{")):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        saved = tmp_path / download.value.suggested_filename
        download.value.save_as(saved)
        assert saved.name.startswith("headlight-lesson-4-scale.")
        assert saved.read_text(encoding="utf-8").startswith(begin)
        settle(page)


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1920])
def test_a_lesson_fits_every_window(page: Page, app_url: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for lesson in ("masks", "heads"):
        visit(page, f"{app_url}/learn?lesson={lesson}&answers=true&step=4")
        wait_until(page, lambda: page.evaluate(OVERFLOW) <= 0, "the page is wider than the window")


@pytest.mark.slow
def test_nothing_on_a_worksheet_is_wider_than_the_paper(page: Page) -> None:
    page.set_viewport_size({"width": PAPER, "height": 1000})
    page.emulate_media(media="print")
    of = subject("en-it", SENTENCES[-1])
    for name, lesson in lessons().items():
        page.set_content(worksheet(lesson, of).decode())
        assert page.evaluate(OUTSIDE) == [], name
        assert page.evaluate(OVERFLOW) == 0, name


@pytest.mark.slow
def test_hatched_cells_are_printed(page: Page) -> None:
    """Browsers leave out backgrounds; a hatching is the only pattern on the sheet."""
    page.set_content(worksheet(lessons()["positions"], subject("en-it", SENTENCES[0])).decode())
    assert b"/Pattern" in page.pdf(format="A4")
