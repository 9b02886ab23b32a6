"""The whole app, from a user's point of view."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from scripts.browser import wait_until_idle
from tests.browser.components.views import choose, picker
from tests.browser.conftest import OpenPage
from tests.browser.headlight import (
    QUIET_MILLISECONDS,
    TOY,
    all_text,
    attention,
    choice,
    click_head,
    expect_other_picture,
    expect_picture,
    head_map,
    is_telling,
    open_section,
    output,
    page_link,
    picture,
    sentence_box,
    settle,
    source_tokens,
    type_sentence,
    visit,
)


def test_a_sentence_goes_in_and_its_translation_comes_out(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/{TOY}")
    type_sentence(page, "yesterday i saw a raccoon.")
    expect(output(page)).to_contain_text("ieri ho visto un procione.")
    expect(source_tokens(page)).to_have_text(["yesterday", "i", "saw", "a", "raccoon", ".", "<eos>"])
    settle(page)
    before = picture(head_map(page))
    click_head(page, 1, 3)
    expect(page.get_by_role("combobox", name="Layer")).to_have_value("1")
    expect(page.get_by_role("combobox", name="Head")).to_have_value("3")
    settle(page)
    expect_other_picture(head_map(page), before)


def test_the_next_sentence_has_its_arithmetic_too(page: Page, app_url: str) -> None:
    """In the same head and at the same cell, whose numbers the viewer must ask for all the same."""
    visit(page, f"{app_url}/{TOY}&cell=2,3")
    steps = attention(page).locator(".hl-cell [data-name=score]")
    expect(steps).not_to_contain_text("…")
    before = choice(page)
    type_sentence(page, "Yesterday I saw a small black cat.")
    expect(source_tokens(page).nth(4)).to_have_text("small")
    settle(page)
    assert [choice(page)[name] for name in ("layer", "head")] == [before[name] for name in ("layer", "head")]
    expect(steps).to_have_count(1)
    expect(steps).not_to_contain_text("…")
    marked = attention(page).evaluate("root => root.state().matrices[0].selected")
    assert marked == choice(page)["cell"] == [2, 3], "the frame of its row and column"


ENTER_AS_A_VIEWER_ASKS = """
(box) => {
  const press = () => box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  for (const { answer } of globalThis[Symbol.for("headlight.channels")].values()) answer?.(["cross:0:0"]);
  // After what the viewer tells, and before Streamlit sends it.
  setTimeout(press);
}
"""


@pytest.mark.slow
def test_a_page_is_not_settled_before_its_viewer_knows_what_is_chosen(
    open_page: OpenPage, app_url: str
) -> None:
    page = open_page()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/bridge.js*", hold)
    with page.expect_request("**/bridge.js*"):
        page.goto(f"{app_url}/{TOY}")
    wait_until_idle(page, quiet=QUIET_MILLISECONDS)
    expect(attention(page)).to_be_attached()
    assert is_telling(attention(page))
    for route in held:
        route.continue_()
    settle(page)
    expect(head_map(page)).to_be_visible()


@pytest.mark.slow
def test_what_is_typed_in_the_moment_in_which_a_viewer_asks_is_read(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/{TOY}")
    sentence_box(page).fill("yesterday i saw a raccoon.")
    sentence_box(page).evaluate(ENTER_AS_A_VIEWER_ASKS)
    expect(output(page)).to_contain_text("ieri ho visto un procione.")


def test_a_link_opens_what_its_sender_saw(page: Page, app_url: str) -> None:
    visit(page, app_url)
    type_sentence(page, "i like the cats.")
    choose(attention(page), "Which attention", "Encoder self-attention")
    settle(page)
    click_head(page, 1, 3)
    expect(page.get_by_role("combobox", name="Head")).to_have_value("3")
    settle(page)
    seen, link = picture(head_map(page)), page.url

    page.goto("about:blank")
    visit(page, link)
    expect(sentence_box(page)).to_have_value("i like the cats.")
    expect(page.get_by_role("combobox", name="Layer")).to_have_value("1")
    expect(page.get_by_role("combobox", name="Head")).to_have_value("3")
    expect(picker(attention(page), "Which attention")).to_have_value("encoder")
    settle(page)
    expect_picture(head_map(page), seen)


@pytest.mark.parametrize(
    "size", [(1400, 900), pytest.param((1920, 1080), marks=pytest.mark.slow)], ids=["1400", "1920"]
)
def test_the_first_screen_has_sentence_translation_and_attention(
    page: Page, app_url: str, size: tuple[int, int]
) -> None:
    width, height = size
    page.set_viewport_size({"width": width, "height": height})
    visit(page, app_url)
    expect(output(page)).to_contain_text("L'animale non ha attraversato la strada perché era troppo stanco.")
    for part in (sentence_box(page), output(page), attention(page).locator(".hl-grid"), head_map(page)):
        expect(part).to_be_visible()
        box = part.bounding_box()
        assert box is not None
        assert box["y"] >= 0, box
        assert box["y"] + box["height"] <= height, box
        assert box["x"] + box["width"] <= width, box


@pytest.mark.slow
def test_two_people_never_see_each_others_sentences(open_page: OpenPage, app_url: str) -> None:
    words = {"first": "aardvark", "second": "platypus"}
    people = {name: open_page() for name in words}
    for user in people.values():
        visit(user, f"{app_url}/{TOY}")
    for round_ in range(3):
        for name, user in people.items():
            type_sentence(user, f"the {words[name]} {name} {round_}.")
        for name, user in people.items():
            expect(source_tokens(user)).to_have_text(["the", words[name], name, str(round_), ".", "<eos>"])
            settle(user)
            others = [word for other, word in words.items() if other != name]
            assert all(word not in all_text(user) + user.url for word in others)


@pytest.mark.slow
def test_on_a_phone_the_sidebar_closes_once_a_page_is_chosen_and_formulas_fit(
    page: Page, app_url: str
) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    visit(page, f"{app_url}/masks")
    for title in ("Layer norm", "Positions"):
        page.get_by_role("button", name="Expand sidebar").click()
        page_link(page, title).click()
        expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
        settle(page)
        expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    formula = page.locator(".katex-display").first
    assert formula.evaluate("box => box.scrollWidth <= box.clientWidth")


@pytest.mark.slow
def test_a_section_chosen_further_down_begins_at_its_start(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/layer-norm{TOY}")
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, main.scrollHeight)")
    menu = page.locator(".st-key-section_menu")
    expect(menu).to_be_in_viewport()
    open_section(page, "Residual stream")
    expect(page.get_by_role("heading", name="The residual stream along the layers")).to_be_in_viewport()


PATCHED = "why?model=toy-en-it&text=the small black cats do not like the cold water.&word=2&section=Patch"
DIVIDED = PATCHED.replace("Patch", "Sums&score_by=head&score_layer=1")
LEAST_SPACING = """
(labels) => {
  const boxes = labels.map((label) => label.getBoundingClientRect());
  const middles = boxes.map(({ left, width }) => left + width / 2).sort((a, b) => a - b);
  return Math.min(...middles.slice(1).map((x, index) => x - middles[index]));
}
"""


@pytest.mark.slow
def test_on_a_phone_the_chosen_section_is_in_view_and_pictures_can_be_read(page: Page, app_url: str) -> None:
    """Numbers that would be tiny are left out; labels that would overlap are in a picture that scrolls."""
    page.set_viewport_size({"width": 400, "height": 850})
    visit(page, f"{app_url}/{PATCHED}")
    menu = page.locator(".st-key-section_menu")
    expect(menu.get_by_role("radio", name="Patch")).to_be_in_viewport(ratio=1)
    numbers = page.locator(".st-key-why_patches .heatmap-label text")
    expect(numbers).not_to_have_count(0)
    expect(numbers.filter(visible=True)).to_have_count(0)
    open_section(page, "Heads")
    expect(menu.get_by_role("radio", name="Heads")).to_be_in_viewport(ratio=1)
    visit(page, f"{app_url}/{DIVIDED}")
    labels = page.locator(".st-key-why_score .xtick text")
    expect(labels).not_to_have_count(0)
    assert labels.evaluate_all(LEAST_SPACING) >= 14, "labels of this height have room"
    page.set_viewport_size({"width": 1400, "height": 1000})
    visit(page, f"{app_url}/{PATCHED}")
    expect(numbers.filter(visible=True)).not_to_have_count(0)
