"""The viewer's map in a real browser: its numbers, the chosen token, heads and words."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

from tests.browser.apps.synthetic import held_run
from tests.browser.components.views import choose, ink, move_to, open_view, picker, state
from tests.browser.headlight import wait_until
from tests.support.runs import ran
from transformer.analysis.attention_maps import Attention, attention_record
from viz.components.shared.client_view import JSON

SOURCE, TARGETS = 0, 1
LAST: dict[Attention, int] = {"encoder": 1, "cross": 2, "decoder": 2}
"""The layer shown for each attention when layer 2 is chosen: the encoder has only two layers."""


SENTENCE, TARGET = "Yesterday I saw a dog.", "ieri ho visto un cane e lo vedo ."
"""7 tokens for the encoder's two layers, 10 for the decoder's three."""


def open_map(page: Page, url: str, options: str = "") -> Locator:
    """Open the map of that run."""
    shown = f"kind=words&text={SENTENCE}&target={TARGET}&look=map&layer=2&{options}"
    return open_view(page, url, "run", shown)


def weights(name: Attention) -> NDArray[np.float32]:
    """(H, Q, K) of the layer shown, from the trace."""
    run = ran("words", SENTENCE, TARGET).run
    found: NDArray[np.float32] = attention_record(run.trace, name, LAST[name]).weights[0].numpy()
    return found


def map_state(view: Locator) -> dict[str, JSON]:
    told: dict[str, JSON] = state(view)["map"]
    return told


def at_token(view: Locator, column: int, position: int) -> None:
    """Move the pointer over a token."""
    box = view.locator(".hl-map .hl-box")
    box.evaluate("box => box.scrollIntoView({block: 'center'})")
    x, y = map_state(view)["middles"][column][position]
    move_to(view.page, box, x, y)
    wait_until(view.page, lambda: map_state(view)["hovered"] == [column, position], "it is not hovered")


def click_token(view: Locator, column: int, position: int) -> None:
    at_token(view, column, position)
    view.page.mouse.down()
    view.page.mouse.up()


def beside(view: Locator, column: int) -> NDArray[np.float64]:
    """The numbers next to the tokens of a column: (heads or their mean, T)."""
    return np.array([numbers for _, numbers in map_state(view)["beside"][column]])


def means(of: NDArray[np.float32]) -> NDArray[np.float32]:
    result: NDArray[np.float32] = of.mean(axis=0)
    return result


def head(view: Locator, number: int) -> Locator:
    return view.get_by_role("button", name=f"head {number}", exact=True)


# Numbers


def test_a_target_token_has_its_rows_of_cross_and_decoder_attention(page: Page, url: str) -> None:
    view = open_map(page, url)
    for position in (0, 4, 9):
        at_token(view, TARGETS, position)
        shown, cross, own = beside(view, SOURCE), weights("cross"), weights("decoder")
        expected = cross[:, position] if len(shown) > 1 else cross[:, position].mean(axis=0, keepdims=True)
        np.testing.assert_allclose(shown, expected, atol=1e-6)
        expected = own[:, position] if len(shown) > 1 else own[:, position].mean(axis=0, keepdims=True)
        np.testing.assert_allclose(beside(view, TARGETS), expected, atol=1e-6)


@pytest.mark.slow
def test_the_tables_name_the_strongest_keys_of_every_head(page: Page, url: str) -> None:
    view = open_map(page, url)
    click_token(view, TARGETS, 5)
    tables = view.locator(".hl-rows table")
    expect(tables).to_have_count(2)
    expect(tables.filter(has_text="Cross-attention, layer 2")).to_contain_text("looks at")
    rows = tables.filter(has_text="Cross-attention").locator("tbody tr")
    expect(rows).to_have_count(3)
    for number, row in enumerate(rows.all()):
        strongest = np.sort(weights("cross")[number, 5])[::-1][:4]
        assert row.locator(".weight").all_inner_texts() == [f"{weight:.3f}" for weight in strongest]
    click_token(view, SOURCE, 1)
    expect(tables.filter(has_text="Cross-attention")).to_contain_text("is looked at by")


@pytest.mark.slow
def test_one_attention_alone_has_its_queries_and_its_keys(page: Page, url: str) -> None:
    view = open_map(page, url)
    n_source, n_target = weights("cross").shape[2], len(TARGET.split()) + 1
    assert [len(own) for own in map_state(view)["middles"]] == [n_source, n_target]
    view.get_by_role("button", name="this attention").click()
    assert [len(own) for own in map_state(view)["middles"]] == [n_target, n_source]
    choose(view, "Which attention", "Encoder self-attention")
    assert [len(own) for own in map_state(view)["middles"]] == [n_source, n_source]
    head(view, 0).dblclick()
    at_token(view, 1, 2)
    run = ran("words", SENTENCE, TARGET).run
    layer = int(picker(view, "Layer").input_value())
    expected = attention_record(run.trace, "encoder", layer).weights[0, 0, :, 2].numpy()
    np.testing.assert_array_equal(beside(view, 0)[0], expected)
    expect(page.get_by_text("families one")).to_be_visible()


@pytest.mark.slow
def test_nothing_moves_under_the_pointer_when_a_head_is_hidden_at_the_end_of_a_page(
    page: Page, url: str
) -> None:
    page.set_viewport_size({"width": 1000, "height": 1000})
    view = open_map(page, url)
    view.locator(".hl-rows").evaluate("box => box.scrollIntoView({block: 'end'})")
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, main.scrollHeight)")
    places = []
    for _ in range(3):
        places.append(head(view, 0).bounding_box())
        head(view, 0).evaluate("button => button.click()")
    assert places[0] == places[1] == places[2]


@pytest.mark.slow
def test_a_model_of_one_attention_has_no_choice_between_them(page: Page, url: str) -> None:
    view = open_view(page, url, "run", "kind=reader&text=the cat saw a dog&look=map")
    expect(view.get_by_role("button", name="this attention")).to_be_hidden()
    at_token(view, 0, 1)
    np.testing.assert_allclose(beside(view, 1).sum(axis=1), 1, atol=1e-6)


# The chosen token


def test_a_click_locks_a_token_and_escape_or_a_click_frees_it(page: Page, url: str) -> None:
    view = open_map(page, url)
    click_token(view, TARGETS, 4)
    page.mouse.move(0, 0)
    assert (map_state(view)["locked"], map_state(view)["hovered"]) == ([TARGETS, 4], None)
    locked = beside(view, SOURCE)
    at_token(view, TARGETS, 6)
    assert not np.allclose(beside(view, SOURCE), locked)
    page.mouse.move(0, 0)
    np.testing.assert_array_equal(beside(view, SOURCE), locked)
    view.locator(".hl-map .hl-box").focus()
    page.keyboard.press("Escape")
    assert map_state(view)["locked"] is None
    assert beside(view, SOURCE).size == 0
    for locked_by_click in ([SOURCE, 2], None):
        click_token(view, SOURCE, 2)
        assert map_state(view)["locked"] == locked_by_click


def test_arrow_keys_reach_every_token_and_enter_locks(page: Page, url: str) -> None:
    view = open_map(page, url)
    box = view.locator(".hl-map .hl-box")
    box.focus()
    assert box.get_attribute("aria-label")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert map_state(view)["hovered"] == [TARGETS, 2]
    said = view.locator(".hl-map > .hl-say")
    strongest = np.sort(means(weights("cross"))[2])[-1]
    expect(said).to_contain_text(f"{strongest:.2f}")
    expect(said).to_contain_text("Decoder self-attention, layer 2")
    page.keyboard.press("Enter")
    expect(said).to_contain_text("Locked")
    assert map_state(view)["locked"] == [TARGETS, 2]


@pytest.mark.slow
def test_a_focused_token_leaves_only_its_lines(page: Page, url: str) -> None:
    view = open_map(page, url)
    canvases = view.locator(".hl-map canvas")
    before = ink(canvases.nth(1))
    at_token(view, TARGETS, 5)
    expect(canvases.first).to_have_css("opacity", "0.06")
    assert ink(canvases.nth(1)) > before


# Heads and mass


def test_heads_are_toggled_and_isolated_and_the_choice_is_told(page: Page, url: str) -> None:
    view = open_map(page, url)
    head(view, 1).click()
    assert map_state(view)["shown"] == [0, 2]
    expect(page.get_by_text("heads (0, 2), mass 90")).to_be_visible()
    head(view, 2).dblclick()
    assert map_state(view)["shown"] == [2]
    head(view, 2).dblclick()
    assert map_state(view)["shown"] == [0, 1, 2]
    head(view, 0).dblclick()
    head(view, 0).click()
    assert map_state(view)["shown"] == []
    view.get_by_role("button", name="all", exact=True).click()
    assert map_state(view)["shown"] == [0, 1, 2]
    expect(page.get_by_text("heads None, mass 90")).to_be_visible()


def test_the_lines_show_the_share_that_is_said(page: Page, url: str) -> None:
    view = open_map(page, url)
    words = view.locator(".hl-mass-words")
    expect(words).to_have_text("Lines show at least 90 % of each row’s attention.")
    lines = view.locator(".hl-map canvas").first
    before = ink(lines)
    view.get_by_role("slider").fill("30")
    expect(words).to_contain_text("at least 30 %")
    wait_until(page, lambda: map_state(view)["isPainted"], "the lines are never all drawn")
    assert ink(lines) < before
    expect(page.get_by_text("heads None, mass 30")).to_be_visible()


# Long sentences and narrow windows


@pytest.mark.slow
def test_heads_of_a_long_run_come_one_after_another(page: Page, url: str) -> None:
    view = open_view(page, url, "viewer", "queries=100&keys=100&look=map&layer=5")
    note = view.locator(".hl-map > .hl-note")
    expect(note).not_to_contain_text("loading")
    head(view, 7).dblclick()
    view.locator(".hl-map .hl-box").evaluate("box => box.scrollTo(0, 1e6)")
    wait_until(page, lambda: map_state(view)["scrolled"] > 0, "it does not scroll")
    at_token(view, TARGETS, 97)
    wait_until(page, lambda: beside(view, SOURCE).size > 0, "the head's weights never came")
    expected = held_run((6, 8), (100, 100)).attentions["cross"].weights(5)[7, 97]
    np.testing.assert_array_equal(beside(view, SOURCE)[0], expected)
    box = view.locator(".hl-map .hl-box").bounding_box()
    assert box is not None
    assert box["height"] <= 640
