"""The matrix of a head: its row labels, zoom and size."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.components.viewer.matrix.reading import (
    held_run,
    hover,
    matrix,
    open_viewer,
    read_table,
)
from tests.browser.components.views import check_fits, choose, picker, state
from viz.figures.labels import visible


@pytest.mark.slow
def test_a_row_is_called_by_the_token_read_or_written_and_says_both(page: Page, url: str) -> None:
    held, view = held_run(), open_viewer(page, url)
    decoder = held.sides["decoder"]
    for rows, tokens in (("read", decoder.tokens), ("written", decoder.written)):
        choose(view, "Row labels", rows)
        table = read_table(view, "attention weight")
        assert table[0][0].startswith(f"query, by the token {rows}")
        assert [row[0] for row in table[1:-1]] == [visible(token or "–") for token in tokens]
        hover(page, view, 3, 2)
        said = f"reads “{visible(decoder.tokens[3])}”, writes “{visible(decoder.written[3] or '')}”"
        tip = view.locator(".hl-tip:visible")
        expect(tip).to_contain_text(re.compile(spoken(said)))
        matrix(view).locator(".hl-box").focus()
        page.keyboard.press("ArrowDown")
        expect(matrix(view).locator(".hl-say").first).to_contain_text(re.compile("reads .*, writes "))
        page.mouse.move(0, 0)


def spoken(text: str) -> str:
    """Regular expression for a text whose tokens are isolated from the surrounding text direction."""
    return re.escape(text).replace("“", "“\u2068").replace("”", "\u2069”")


@pytest.mark.slow
def test_an_encoder_has_nothing_to_switch(page: Page, url: str) -> None:
    view = open_viewer(page, url)
    choose(view, "Which attention", "Encoder self-attention")
    expect(picker(view, "Row labels")).to_be_hidden()
    assert read_table(view, "^Encoder")[0][0].startswith("looks from (query)")


def test_cells_are_zoomed_with_the_wheel_and_panned_with_the_mouse(page: Page, url: str) -> None:
    view = open_viewer(page, url, "long")
    choose(view, "Which attention", "Encoder self-attention")
    read_table(view, "^Encoder")
    before = state(view)["matrices"][0]
    hover(page, view, 20, 20)
    page.keyboard.down("Control")
    for _ in range(4):
        page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    zoomed = state(view)["matrices"][0]
    assert zoomed["cell"][1] > before["cell"][1]
    box = matrix(view).locator(".hl-box")
    scrolled = box.evaluate("box => [box.scrollLeft, box.scrollTop]")
    selected = zoomed["selected"]
    bounds = box.bounding_box()
    assert bounds is not None
    x, y = bounds["x"] + bounds["width"] / 2, bounds["y"] + bounds["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y - 40, steps=4)
    page.mouse.up()
    moved = box.evaluate("box => [box.scrollLeft, box.scrollTop]")
    assert [now - then for now, then in zip(moved, scrolled, strict=True)] == [60, 40]
    assert state(view)["matrices"][0]["selected"] == selected, "a pan chooses nothing"
    matrix(view).get_by_role("button", name="whole matrix").click()
    assert state(view)["matrices"][0]["cell"] == before["cell"]


@pytest.mark.slow
def test_everything_has_room(page: Page, url: str) -> None:
    for width in (400, 1400, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        view = open_viewer(page, url)
        check_fits(view, width)
        choose(view, "Comparison", "head 0")
        check_fits(view, width)
        if width == 1400:
            matrix(view).locator("summary").click()
            choose(view, "Comparison", "")
            for part in (".hl-grid", ".hl-main"):
                box = view.locator(part).bounding_box()
                assert box is not None
                assert box["height"] < 620


def test_the_grid_and_the_matrix_are_reachable(page: Page, url: str) -> None:
    view = open_viewer(page, url)
    view.get_by_text("Table of these heads", exact=True).click()
    for part in (view.locator(".hl-grid"), matrix(view)):
        table = part.get_by_role("group", name=re.compile("^Table of these"))
        for focusable in (part.get_by_role("application"), table):
            focusable.focus()
            assert focusable.evaluate("node => node.getRootNode().activeElement === node")
            assert focusable.get_attribute("aria-label")
