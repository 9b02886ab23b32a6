"""Scenes from two pages are shown by keyboard, restored exactly, saved to a file and opened again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.components.line import Line
from tests.browser.components.views import click_map
from tests.browser.conftest import OpenPage
from tests.browser.headlight import (
    TOY,
    attention,
    choice,
    expect_sentence,
    sentence_box,
    settle,
    type_sentence,
    visit,
    wait_until,
)
from tests.browser.test_history import address, entries, follow
from viz.components.shared.client_view import JSON
from viz.scenes import PICTURES

FIRST, SECOND = "I like the cats.", "My dog sleeps."
MARKUP = "Where does <b>this</b> head look? <img src=x onerror=alert(1)>"

DELETE_AND_SAVE = """
(remove) => {
  const list = remove.closest(".hl");
  remove.click();
  [...list.querySelectorAll("button")].find(({ textContent }) => textContent === "Save as a file").click();
}
"""

IS_INSIDE = """
(picture) => {
  const drawn = [...picture.querySelectorAll(".main-svg, [data-testid^=stBidiComponent]")];
  const boxes = drawn.map((one) => one.getBoundingClientRect());
  return boxes.length > 0
    && boxes.every(({ top, bottom, left, right }) =>
      top > 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth);
}
"""

NOTE_COUNTS = """
(root) => {
  const list = root.querySelector("ol");
  window.counts = [];
  new MutationObserver(() => window.counts.push(list.children.length)).observe(list, { childList: true });
}
"""


def keep(page: Page, caption: str) -> None:
    """Keep the current view as a scene."""
    settle(page)
    page.get_by_label("Caption of the scene", exact=True).fill(caption)
    page.get_by_role("button", name="Keep this").click()
    expect(page.get_by_label("Caption of the scene", exact=True)).to_have_value("")
    settle(page)


def caption(page: Page) -> Locator:
    return page.get_by_role("region", name="Scenes", exact=True).locator(".caption")


def expect_scene(page: Page, number: str, text: str) -> None:
    expect(page.get_by_role("region", name="Scenes", exact=True)).to_contain_text(number)
    expect(caption(page)).to_have_text(text)


def choose_layer_and_head(page: Page, layer: int, head: int) -> None:
    settle(page)
    attention(page).locator(".hl-grid .hl-stage").scroll_into_view_if_needed()
    click_map(page, attention(page), layer, head)
    wait_until(page, lambda: (choice(page)["layer"], choice(page)["head"]) == (layer, head), "never chosen")
    page.wait_for_function("h => new URLSearchParams(location.search).get('head') === h", arg=str(head))


def two_scenes(page: Page, app_url: str) -> list[dict[str, JSON]]:
    """Keep three scenes (Explore, Masks, Explore); return the two choices on Explore."""
    visit(page, f"{app_url}/{TOY}&cell=2,1")
    type_sentence(page, FIRST)
    expect_sentence(page, "Ilikethecats.")
    choose_layer_and_head(page, 0, 2)
    keep(page, MARKUP)
    chosen = [choice(page)]
    follow(page, "Masks")
    page.get_by_role("radio", name="2", exact=True).click()
    keep(page, "The second sentence is longer.")
    follow(page, "Explore")
    type_sentence(page, SECOND)
    expect_sentence(page, "Mydogsleeps.")
    choose_layer_and_head(page, 1, 3)
    keep(page, "")
    return [*chosen, choice(page)]


def test_scenes_are_shown_by_keyboard_and_each_is_what_it_was(open_page: OpenPage, app_url: str) -> None:
    page = open_page()
    first, third = two_scenes(page, app_url)
    follow(page, "Scenes")
    before = entries(page)
    page.get_by_role("button", name="Show 3 scenes").click()

    expect_scene(page, "1 of 3", MARKUP)
    expect_sentence(page, "Ilikethecats.")
    wait_until(page, lambda: choice(page) == first, "the first scene never came back")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    settle(page)
    assert address(page)["text"] == [FIRST]
    assert address(page)["large"] == ["true"]

    page.keyboard.press("PageDown")
    expect_scene(page, "2 of 3", "The second sentence is longer.")
    page.wait_for_url("**/masks?*")
    settle(page)
    expect(page.locator("[data-picture]")).to_be_visible()
    assert address(page)["sentence"] == ["2"]

    page.keyboard.press("ArrowRight")
    expect_scene(page, "3 of 3", f"Explore: {SECOND}")
    expect_sentence(page, "Mydogsleeps.")
    wait_until(page, lambda: choice(page) == third, "the third scene never came back")
    page.keyboard.press("PageDown")
    expect_scene(page, "3 of 3", f"Explore: {SECOND}")

    page.keyboard.press("PageUp")
    page.keyboard.press("PageUp")
    expect_scene(page, "1 of 3", MARKUP)
    expect_sentence(page, "Ilikethecats.")
    wait_until(page, lambda: choice(page) == first, "two steps at once lost their way")
    settle(page)
    assert entries(page) == before + 1, "a show is one visit"

    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Scenes", exact=True)).to_have_count(0)
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    settle(page)
    assert "large" not in address(page)
    assert choice(page) == first, "the show ends where it is"


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_shown_scene_has_its_whole_picture_in_the_window(page: Page, app_url: str, name: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    step = "?lesson=one-head" if name == "learn" else ""
    visit(page, f"{app_url}/{'' if name == 'explore' else name}{step}")
    keep(page, "Look")
    page.get_by_role("button", name="Show 1 scene").click()
    picture = page.locator("[data-picture]")
    expect(picture).to_have_class(re.compile(rf"st-key-{PICTURES[name]}\b"))
    expect(page.get_by_role("heading", level=1)).to_be_hidden()
    wait_until(page, lambda: picture.evaluate(IS_INSIDE), "a part of the picture is outside the window")


def test_a_section_without_a_picture_is_shown_in_words(page: Page, app_url: str) -> None:
    """Its pictures are folded away: shown alone they would be an empty window."""
    visit(page, f"{app_url}/decode?section=Confidence")
    folded = page.get_by_text("The probability of each word")
    expect(folded).to_be_visible()
    keep(page, "Look")
    page.get_by_role("button", name="Show 1 scene").click()
    expect(page.locator("[data-picture]")).to_have_class(re.compile(r"st-key-section-Confidence\b"))
    expect(page.get_by_text("of such translations were right")).to_be_in_viewport()
    expect(folded).to_be_in_viewport()


@pytest.mark.slow
def test_arrow_keys_in_the_viewer_are_the_viewers(page: Page, app_url: str) -> None:
    two_scenes(page, app_url)
    page.get_by_role("button", name="Show 3 scenes").click()
    expect_sentence(page, "Ilikethecats.")
    settle(page)
    stage = attention(page).locator(".hl-head [role=application]").first
    stage.focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    expect_scene(page, "1 of 3", MARKUP)
    page.keyboard.press("PageDown")
    expect_scene(page, "2 of 3", "The second sentence is longer.")


@pytest.mark.slow
def test_scenes_outlive_a_reload_and_back_ends_the_show(page: Page, app_url: str) -> None:
    two_scenes(page, app_url)
    page.reload()
    page.get_by_role("button", name="Show 3 scenes").click()
    expect_scene(page, "1 of 3", MARKUP)
    expect_sentence(page, "Ilikethecats.")
    settle(page)
    page.go_back()
    expect(page.get_by_role("region", name="Scenes", exact=True)).to_have_count(0)
    expect_sentence(page, "Mydogsleeps.")


@pytest.mark.slow
def test_back_leaves_a_scene_that_is_still_loading(open_page: OpenPage, app_url: str) -> None:
    page = open_page()
    line = Line(page)
    _, third = two_scenes(page, app_url)
    line.hold_answers()
    page.get_by_role("button", name="Show 3 scenes").click()
    expect_scene(page, "1 of 3", MARKUP)
    page.go_back()
    expect(page.get_by_role("region", name="Scenes", exact=True)).to_have_count(0)
    assert page.evaluate("!document.documentElement.hasAttribute('data-visiting')")
    line.release()
    expect_sentence(page, "Mydogsleeps.")
    settle(page)
    assert address(page)["text"] == [SECOND]
    assert choice(page) == third


@pytest.mark.slow
def test_scenes_are_edited_saved_and_opened_by_someone_else(
    page: Page, open_page: OpenPage, app_url: str, tmp_path: Path
) -> None:
    two_scenes(page, app_url)
    follow(page, "Scenes")
    page.get_by_label("Caption of scene 3").fill("A dog.")
    page.get_by_role("button", name="Move up scene 3").click()
    expect(page.get_by_label("Caption of scene 2")).to_have_value("A dog.")
    expect(page.get_by_role("button", name="Move up scene 2")).to_be_focused()
    page.get_by_role("button", name="Delete scene 3").click()
    page.get_by_role("button", name="Undo").click()
    with page.expect_download() as download:
        # What is on screen is saved, even if the server does not know of it yet.
        page.get_by_role("button", name="Delete scene 3").evaluate(DELETE_AND_SAVE)
    saved = tmp_path / "scenes.json"
    download.value.save_as(saved)
    text = saved.read_text(encoding="utf-8")
    scenes = json.loads(text)["scenes"]
    assert [scene.get("caption") for scene in scenes] == [MARKUP, "A dog."]
    assert text.startswith('{\n "kind": "headlight scenes",'), "people can read it"

    other = open_page()
    visit(other, f"{app_url}/scenes")
    other.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(saved)
    other.get_by_role("button", name="Open them").click()
    other.get_by_role("button", name="Open scene 1", exact=True).click()
    expect_sentence(other, "Ilikethecats.")
    expect(sentence_box(other)).to_have_value(FIRST)
    wait_until(other, lambda: choice(other)["cell"] == [2, 1], "the cell never came back")
    assert other.locator("main img, main b").count() == 0


@pytest.mark.slow
def test_what_was_brought_back_stays_so_when_an_answer_to_something_older_comes(
    open_page: OpenPage, app_url: str
) -> None:
    page = open_page()
    line = Line(page)
    two_scenes(page, app_url)
    follow(page, "Scenes")
    settle(page)
    page.locator(".hl-scene_list").evaluate(NOTE_COUNTS)
    ended = line.ended
    line.hold_answers()
    page.get_by_role("button", name="Delete scene 3").click()
    wait_until(page, lambda: line.has_ended(ended + 1), "the deletion was not told")
    page.get_by_role("button", name="Undo").click()
    wait_until(page, lambda: line.has_ended(ended + 2), "what was brought back was not told")
    line.release_run()
    expect(page.get_by_role("button", name="Show 2 scenes")).to_be_visible()
    line.release()
    expect(page.get_by_role("button", name="Show 3 scenes")).to_be_visible()
    settle(page)
    assert page.evaluate("window.counts") == [2, 3]


@pytest.mark.slow
def test_a_pointer_finds_what_is_drawn_in_large_type(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/{TOY}&text=I+like+the+cats.&layer=0&large=true")
    zoom = attention(page).evaluate("root => root.currentCSSZoom")
    assert zoom > 1.3
    box = attention(page).locator(".hl-head .hl-matrix .hl-box")
    box.scroll_into_view_if_needed()
    told = attention(page).evaluate("root => root.state().matrices[0]")
    [left, top], (width, height) = told["corner"], told["cell"]
    place = box.bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + zoom * (left + 3.5 * width), place["y"] + zoom * (top + 2.5 * height))
    page.mouse.down()
    page.mouse.up()
    wait_until(page, lambda: choice(page)["cell"] == [2, 3], "another cell was hit")
    middle = attention(page).evaluate("root => root.state().middles[1][3]")
    stage = attention(page).locator(".hl-grid .hl-stage")
    stage.scroll_into_view_if_needed()
    place = stage.bounding_box()
    assert place is not None
    page.mouse.click(place["x"] + zoom * middle[0], place["y"] + zoom * middle[1])
    wait_until(page, lambda: (choice(page)["layer"], choice(page)["head"]) == (1, 3), "another head was hit")


@pytest.mark.slow
def test_the_switch_for_large_type_keeps_the_whole_address(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/{TOY}&text=I+like+the+cats.&layer=0&cell=2,1")
    before = address(page)
    page.get_by_test_id("stSidebar").get_by_text("Large type").click()
    page.wait_for_function("new URLSearchParams(location.search).get('large') === 'true'")
    settle(page)
    assert address(page) == before | {"large": ["true"]}
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "22px"
