"""Step by step in a browser: buttons, keys, playing and drawing; numbers and announcements."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.headlight import TOY, picture, settle, visit, wait_until
from transformer.checkpoints.opening import open_model
from transformer.run import run_sentence

TEXT = "I saw the dog."
ADDRESS = f"{TOY}&text=I+saw+the+dog."


def start(page: Page, app_url: str, **address: str) -> None:
    told = "".join(f"&{name}={value}" for name, value in address.items())
    visit(page, f"{app_url}/step-by-step{ADDRESS}{told}")


def heading(page: Page) -> Locator:
    return page.get_by_role("heading", level=2)


def pictures(page: Page) -> Locator:
    return page.locator(".hl-pictures")


def state(page: Page) -> dict[str, Any]:
    told: dict[str, Any] = pictures(page).evaluate("root => root.state()")
    return told


def block(page: Page, label: str) -> Locator:
    group = page.get_by_role("group", name="Where we are in the model")
    return group.get_by_role("button", name=label, exact=True)


def press(page: Page, label: str) -> None:
    page.get_by_role("button", name=label, exact=True).click()


def path(page: Page) -> Locator:
    return page.locator(".hl-path")


def time(page: Page) -> tuple[str, float]:
    """The step that the path shows, and how far it has come."""
    told = path(page).evaluate("root => root.state()")
    return told["name"], told["t"]


def test_buttons_and_keys_go_from_step_to_step(page: Page, app_url: str) -> None:
    start(page, app_url, stage="text")
    expect(heading(page)).to_have_text("The text")
    press(page, "Next")
    expect(heading(page)).to_have_text("Tokens")
    settle(page)
    page.locator("body").press("PageDown")
    expect(heading(page)).to_have_text("Ids")
    settle(page)
    # Arrow keys change the step on the page itself; in the pictures they move between numbers.
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("ArrowRight")
    expect(heading(page)).to_have_text("Rows of the embedding matrix")
    settle(page)
    page.keyboard.press("ArrowLeft")
    expect(heading(page)).to_have_text("Ids")
    settle(page)
    press(page, "Back")
    expect(heading(page)).to_have_text("Tokens")
    settle(page)
    assert "stage=tokens" in page.url


def test_space_plays_and_pauses_in_the_middle_of_a_step(page: Page, app_url: str) -> None:
    page.emulate_media(reduced_motion="no-preference")
    start(page, app_url, stage="self-scale")
    before = picture(path(page))
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("Space")
    wait_until(page, lambda: time(page)[0] == "self-k" and time(page)[1] > 0, "it does not play")
    page.keyboard.press("Space")
    paused = time(page)
    expect(heading(page)).to_have_text("Keys of head 0")
    settle(page)
    assert time(page) == paused, "the pictures below do not move the path"
    assert picture(path(page)) != before
    page.keyboard.press("ArrowLeft")
    wait_until(page, lambda: time(page) == ("self-scale", 1), "it does not go back")
    assert picture(path(page)) == before


def test_without_motion_each_step_is_a_still(page: Page, app_url: str) -> None:
    start(page, app_url, stage="self-q")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_hidden()
    press(page, "Next")
    assert time(page) == ("self-scale", 1)
    assert path(page).evaluate("root => root.state().frames") == 0
    expect(path(page).locator(".hl-say")).to_contain_text("Divided by the square root of d_head")


@pytest.mark.slow
def test_a_block_leads_to_its_stage_and_says_where_we_are(page: Page, app_url: str) -> None:
    start(page, app_url, stage="text")
    expect(block(page, "embedding").first).to_have_attribute("aria-current", "step")
    block(page, "cross-attention").click()
    expect(heading(page)).to_have_text("Queries of head 0")
    settle(page)
    expect(block(page, "cross-attention")).to_have_attribute("aria-current", "step")
    expect(block(page, "embedding").first).not_to_have_attribute("aria-current", "step")
    assert state(page)["pictures"][-1]["sizes"] == "6 queries × 32 dimensions"


def test_a_number_is_the_run_s_own(page: Page, app_url: str) -> None:
    start(page, app_url, stage="self-scores", layer="1", side="Encoder")
    run = run_sentence(open_model("toy-en-it"), TEXT)
    scores = run.trace["encoder.layers.1.self_attn.scores"][0, 0]
    pictures(page).scroll_into_view_if_needed()
    canvas = pictures(page).locator("canvas").first.bounding_box()
    assert canvas is not None
    x, y, width, height = state(page)["pictures"][-1]["box"]
    n = len(scores)
    row, column = 3, 1
    page.mouse.move(canvas["x"] + x + (column + 0.5) * width / n, canvas["y"] + y + (row + 0.5) * height / n)
    tip = pictures(page).locator(".hl-tip")
    expect(tip).to_be_visible()
    told = tip.locator(".value").inner_text().replace("−", "-")
    assert float(told) == round(float(scores[row, column]), 6)
    expect(tip).to_contain_text("query 3 “\u2068dog\u2069”")
    expect(tip).to_contain_text("key 1 “\u2068saw\u2069”")


@pytest.mark.slow
def test_numbers_are_reached_and_said_by_keyboard(page: Page, app_url: str) -> None:
    start(page, app_url, stage="self-weights", side="Encoder")
    stage = pictures(page).get_by_role("application")
    stage.focus()
    stage.press("ArrowRight")
    said = pictures(page).locator(".hl-say")
    expect(said).to_contain_text("weights A: query 0 “\u2068I\u2069”, key 0 “\u2068I\u2069”")
    stage.press("ArrowLeft")
    expect(said).to_contain_text("masked S: query 0")
    expect(heading(page)).to_have_text("Weights: softmax over the keys")
    stage.press("Escape")
    expect(pictures(page).locator(".hl-tip")).to_be_hidden()


@pytest.mark.slow
def test_the_drawing_stands_below_in_a_narrow_window(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    start(page, app_url, stage="self-q")
    above, below = pictures(page).bounding_box(), page.locator(".hl-architecture").bounding_box()
    assert above is not None
    assert below is not None
    assert below["y"] > above["y"] + above["height"]
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert page.evaluate(wide) is False
