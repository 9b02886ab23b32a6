"""The browser fetches the parts of a long run that it shows: each once, one request at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.apps.synthetic import cross_weights, held_run
from tests.browser.components.line import Line
from tests.browser.components.viewer.alone import LONG, PATIENCE, Alone
from tests.browser.components.views import (
    Traffic,
    at_cell,
    at_map,
    choose,
    click_map,
    grid,
    ink,
    matrix,
    matrix_state,
    move_to,
    open_view,
    picker,
    press,
    state,
)
from tests.browser.conftest import OpenPage
from viz.viewer.choice import Choice
from viz.viewer.frames import MAX_SHORT, first_pieces


@pytest.fixture
def timeless_page(open_page: OpenPage) -> Iterator[Page]:
    """A page where time stands still; its browser context is not reused."""
    page = open_page()
    page.clock.install(time=0)
    yield page
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("tokens,most", [(64, 3 * 48 * 64 * 64 * 4 + 100_000), (512, 8_000_000)])
def test_a_long_run_comes_in_pieces(page: Page, traffic: Traffic, url: str, tokens: int, most: int) -> None:
    open_view(page, url, "viewer", f"queries={tokens}&keys={tokens}")
    assert traffic.received < most


def test_what_is_missing_is_asked_for_in_one_request_at_a_time(timeless_page: Page, url: str) -> None:
    alone = Alone(timeless_page, url, LONG, Choice("cross", 1, 3))
    assert len(alone.asked) == 1
    assert set(alone.asked[0]) == {"pooled:cross", "head:cross:1:3"}
    for head in (4, 5, 7):
        alone.choose_head(head)
    assert len(alone.asked) == 1, "the answer is still to come"
    assert alone.told == [], "the user has not come to rest"
    alone.answer(alone.asked[0])
    assert alone.asked[1] == ["head:cross:1:7"], "what is shown comes before what may be wanted next"
    alone.answer(alone.asked[1])
    assert set(alone.asked[2]) == {"head:cross:1:6", "head:cross:0:7"}
    alone.answer(alone.asked[2])
    assert len(alone.asked) == 3, "all of it is here"
    alone.page.clock.run_for(2 * PATIENCE)
    assert len(alone.asked) == 3
    assert [choice["head"] for choice in alone.told] == [7]


def test_hovering_asks_for_nothing_and_tells_nothing(timeless_page: Page, url: str) -> None:
    alone = Alone(timeless_page, url, LONG, Choice("cross", 1, 3))
    n_asked = 0
    while len(alone.asked) > n_asked:
        n_asked = len(alone.asked)
        alone.answer(alone.asked[-1])
    view = alone.page.locator(".hl-attention")
    for step in range(15):
        move_to(alone.page, matrix(view), 40 + 20 * step, 60 + 15 * step)
        alone.page.clock.run_for(100)
    assert state(view)["matrices"][0]["hovered"], "it is the matrix that is hovered"
    alone.page.clock.run_for(2 * PATIENCE)
    assert len(alone.asked) == n_asked
    assert alone.told == []


def test_another_run_is_asked_for_what_its_first_update_lacks(timeless_page: Page, url: str) -> None:
    alone = Alone(timeless_page, url, LONG, Choice("cross", 1, 3))
    other = held_run((2, 8), (MAX_SHORT + 3, MAX_SHORT + 2))
    n_asked = len(alone.asked)
    alone.show(other)
    assert len(alone.asked) == n_asked, "the update comes after the run"
    alone.answer(first_pieces(other, alone.choice))
    [asked] = alone.asked[n_asked:]
    assert set(asked) == {"head:cross:1:2", "head:cross:1:4", "head:cross:0:3"}


def test_what_never_came_is_asked_for_again(timeless_page: Page, url: str) -> None:
    alone = Alone(timeless_page, url, LONG, Choice("cross", 1, 3))
    alone.page.clock.run_for(PATIENCE)
    [first, again] = alone.asked
    assert again == first


def test_nothing_is_asked_for_while_the_page_is_run(timeless_page: Page, url: str) -> None:
    """Streamlit would drop the parts of the viewer that the run has not yet sent and break the page."""
    alone = Alone(timeless_page, url, LONG, Choice("cross", 1, 3))
    alone.answer(alone.asked[0])
    n_asked = len(alone.asked)
    alone.run("running")
    alone.choose_head(6)
    alone.page.clock.run_for(2 * PATIENCE)
    assert len(alone.asked) == n_asked
    alone.run("notRunning")
    assert alone.asked[n_asked:] == [["head:cross:1:6"]]


def test_nothing_is_asked_for_while_a_link_is_followed(timeless_page: Page, url: str) -> None:
    """The server would return to the page being left. If the link leads nowhere, the request follows."""
    alone = Alone(timeless_page, url, LONG, Choice("cross", 1, 3))
    alone.answer(alone.asked[0])
    n_asked = len(alone.asked)
    alone.page.evaluate("document.documentElement.dataset.following = '/training'")
    alone.choose_head(6)
    alone.page.clock.run_for(2 * PATIENCE)
    assert len(alone.asked) == n_asked
    alone.page.evaluate("delete document.documentElement.dataset.following")
    assert alone.asked[n_asked:] == [["head:cross:1:6"]]


def test_a_viewer_that_has_left_the_page_asks_for_nothing(timeless_page: Page, url: str) -> None:
    """Its requests would rerun the page again and again, and what is typed meanwhile would be lost."""
    alone = Alone(timeless_page, url, LONG, Choice("cross", 1, 3))
    assert len(alone.asked) == 1
    alone.leave()
    alone.answer([])
    alone.page.clock.run_for(2 * PATIENCE)
    assert len(alone.asked) == 1


def test_a_head_that_is_not_here_is_waited_for_and_then_right(open_page: OpenPage, url: str) -> None:
    page = open_page()
    line = Line(page)
    view = open_view(page, url, "viewer", f"queries={MAX_SHORT + 6}&keys={MAX_SHORT + 9}&layer=5")
    line.hold()
    click_map(page, view, 1, 2)
    assert state(view)["selected"] == [1, 2]
    expect(matrix(view)).to_have_class(re.compile("hl-waiting"))
    line.release()
    expect(matrix(view)).not_to_have_class(re.compile("hl-waiting"))
    at_cell(page, view, 5, 7)
    number = cross_weights(MAX_SHORT + 6, MAX_SHORT + 9)[1, 2, 5, 7]
    expect(matrix(view).locator(".hl-tip .value")).to_have_text(f"{number:.4f}")


BYTES = "queries=40&keys=41&layer=5"
"""A run whose maps come first as a byte per cell."""
COLORS = """
(canvas, places) => places.map(([x, y]) => {
  const scale = devicePixelRatio;
  return [...canvas.getContext("2d").getImageData(x * scale, y * scale, 1, 1).data].slice(0, 3);
})
"""
CELLS = [(query, key) for query in range(0, 40, 3) for key in range(0, 41, 4)]


def test_a_head_has_its_colours_at_once_and_no_number_before_it_is_exact(
    open_page: OpenPage, url: str
) -> None:
    page = open_page()
    line = Line(page)
    view = open_view(page, url, "viewer", BYTES)
    view.locator(".hl-head summary", has_text="Table of these numbers").click()
    numbers = view.locator(".hl-head td, .hl-cell button.hl-number, .hl-reading-of-head .hl-link")
    expect(numbers.first).to_be_visible()
    line.hold()
    click_map(page, view, 1, 2)
    expect(numbers.filter(visible=True)).to_have_count(0)
    rough = colors(view)
    assert len(set(map(tuple, rough))) > 20, "not one colour"
    tip = matrix(view).locator(".hl-tip .value")
    for cell in ((5, 7), (30, 2)):
        at_cell(page, view, *cell)
        expect(tip).to_have_text("…")
    page.mouse.move(0, 0)
    line.release()
    expect(numbers.first).to_be_visible()
    exact = colors(view)
    assert (
        max(
            abs(a - b)
            for one, other in zip(rough, exact, strict=True)
            for a, b in zip(one, other, strict=True)
        )
        <= 6
    )
    weights = cross_weights(40, 41)[1, 2]
    for query, key in ((5, 7), (30, 2)):
        at_cell(page, view, query, key)
        expect(tip).to_have_text(f"{weights[query, key]:.4f}")
    shown = view.locator(".hl-head table tbody tr").nth(5).locator("td")
    assert shown.all_text_contents() == [f"{weight:.4f}" for weight in weights[5]]


def test_a_comparison_waits_for_the_exact_numbers_of_both_heads(open_page: OpenPage, url: str) -> None:
    page = open_page()
    line = Line(page)
    view = open_view(page, url, "viewer", BYTES)
    line.hold()
    choose(view, "Comparison", "head 7")
    expect(matrix(view, 1)).not_to_have_class(re.compile("hl-waiting"))
    expect(matrix(view, 2)).to_have_class(re.compile("hl-waiting"))
    line.release()
    expect(matrix(view, 2)).not_to_have_class(re.compile("hl-waiting"))


def test_a_number_in_the_grid_is_fetched_when_it_is_pointed_at(open_page: OpenPage, url: str) -> None:
    page = open_page()
    line = Line(page)
    view = open_view(page, url, "viewer", BYTES)
    line.hold()
    at_map(page, view, 2, 6)
    tip = grid(view).locator(".hl-tip")
    expect(tip).to_contain_text("here: ")
    expect(tip).to_contain_text(re.compile("…$"))
    line.release()
    expect(tip).to_contain_text(re.compile(r"\d$"))
    middle = cross_weights(40, 41)[2, 6, 20, 20]  # the pointer is in the middle of the map
    expect(tip).to_contain_text(f"{middle:.4f}")


def test_rows_of_a_token_have_their_colours_before_their_numbers(open_page: OpenPage, url: str) -> None:
    page = open_page()
    line = Line(page)
    view = open_view(page, url, "viewer", BYTES)
    line.hold()
    press(view, "One token")
    canvas, tip = view.locator(".hl-token canvas").first, view.locator(".hl-token .hl-tip")
    waiting = view.locator(".hl-token .hl-waiting")
    assert ink(canvas) > 1000
    expect(waiting).to_have_count(1)  # nothing of the other attention is here
    canvas.hover(position={"x": 180, "y": state(view)["rows"]["middles"][0][1][2]})
    expect(tip).to_contain_text(re.compile("layer 1, head 2\\s*…"))
    expect(tip).to_contain_text(re.compile(r"here: .* …$"))
    line.release()
    expect(waiting).to_have_count(0)
    query = int(picker(view, "Token").input_value())
    expect(tip).to_contain_text(f"{cross_weights(40, 41)[1, 2, query].max():.2f}")
    expect(tip).to_contain_text(re.compile(r"here: .* 0\.\d{4}$"))


def colors(view: Locator) -> list[list[int]]:
    """The colours of some cells of the chosen head's matrix."""
    now = matrix_state(view)
    (width, height), (left, top) = now["cell"], now["corner"]
    places = [(left + (key + 0.5) * width, top + (query + 0.5) * height) for query, key in CELLS]
    found: list[list[int]] = matrix(view).locator("canvas").first.evaluate(COLORS, places)
    return found
