"""The Decode page's views in a real browser: the search tree and the next-token probabilities."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from scripts.browser import ROOT
from tests.browser.apps.synthetic import next_logits, words
from tests.browser.apps.synthetic_search import made_up_search
from tests.browser.components.line import Line
from tests.browser.components.views import chosen_node, node_number, nodes, open_view, state
from tests.browser.conftest import OpenPage
from tests.browser.headlight import settle, wait_until
from transformer.decoding.sampling import sampling_distribution
from viz.components.next_tokens import TEMPERATURES, TOP_KS, TOP_PS, Reshaping, next_tokens
from viz.components.shared.client_view import ClientView
from viz.theme import palette


@pytest.mark.slow
def test_the_tree_is_drawn_whole_and_tokens_stay_text(page: Page, url: str) -> None:
    view = open_view(page, url, "tree", "beam=4&steps=30")
    expect(view.locator("g.node")).to_have_count(len(made_up_search(4, 30)[0]))
    expect(view.locator("g.node text.token", has_text="<b>x").first).to_be_attached()
    assert view.locator("b:not(.numbers b), script").count() == 0
    legend = view.locator(".hl-legend")
    expect(legend).to_contain_text("ended the sentence")
    expect(legend).not_to_contain_text("<eos>")


def test_a_step_back_pales_what_came_later_and_shows_who_lived_then(page: Page, url: str) -> None:
    view = open_view(page, url, "tree", "beam=4&steps=9")
    view.get_by_role("slider").fill("9")
    expect(view.locator("output")).to_have_text("step 8 (the last is 8)")
    expect(nodes(view, "future")).to_have_count(0)
    dead = nodes(view, "dead").count()
    for _ in range(6):
        view.get_by_role("button", name="one step back").click()
    expect(view.locator("output")).to_have_text("step 2 (the last is 8)")
    expect(view.locator(".hl-node .title")).to_contain_text("Step 2: ")
    assert nodes(view, "future").count() > 0
    assert nodes(view, "dead").count() < dead
    expect(nodes(view, "future").first).to_have_css("opacity", "0.4")
    view.get_by_role("slider").fill("1")
    expect(view.locator("output")).to_have_text("step 0 (the last is 8)")
    expect(view.get_by_role("button", name="one step back")).to_be_disabled()
    expect(page.get_by_text(f"picked Chosen(node={chosen_node(view)})")).to_be_visible()


def test_a_click_and_the_arrow_keys_choose_a_node_and_say_why(page: Page, url: str) -> None:
    view = open_view(page, url, "tree", "beam=4&steps=9")
    pruned = nodes(view, "pruned").first
    pruned.click()
    expect(pruned).to_have_class("node pruned path chosen")
    first = chosen_node(view)
    search = made_up_search(4, 9)[0]
    expect(view.locator(".hl-node .why")).to_have_text(search[first].why)
    expect(page.get_by_text(f"picked Chosen(node={first})")).to_be_visible()
    view.locator(".hl-tree").focus()
    page.keyboard.press("ArrowUp")
    above = chosen_node(view)
    assert search[above].depth == search[first].depth
    assert search[above].rank == search[first].rank - 1
    expect(page.get_by_text(f"picked Chosen(node={above})")).to_be_visible()
    expect(view.locator(".hl-say")).to_contain_text("Its score")


def test_a_search_is_continued_from_a_node_by_button_by_key_and_by_double_click(page: Page, url: str) -> None:
    view = open_view(page, url, "tree", "beam=4&steps=9")
    pruned = nodes(view, "pruned")
    ways: tuple[Callable[[], None], ...] = (
        lambda: view.get_by_role("button", name="Continue from here").click(),
        lambda: view.locator(".hl-tree").press("Enter"),
        lambda: pruned.nth(2).dblclick(),
    )
    for i, continue_from_here in enumerate(ways):
        pruned.nth(i).click()
        number = chosen_node(view)
        expect(page.get_by_text(f"picked Chosen(node={number})")).to_be_visible()
        continue_from_here()
        expect(page.get_by_text(f"picked GoOn(node={number})")).to_be_visible()


NOTE_CHOSEN = """
(root) => {
  window.chosen = [];
  new MutationObserver(() => {
    const { node } = root.querySelector("g.node.chosen").dataset;
    if (node !== window.chosen.at(-1)) window.chosen.push(node);
  }).observe(root, { subtree: true, attributes: true });
}
"""


@pytest.mark.slow
def test_an_answer_to_something_older_moves_nothing_back(open_page: OpenPage, url: str) -> None:
    page = open_page()
    line = Line(page)
    view = open_view(page, url, "tree", "beam=4&steps=9")
    view.evaluate(NOTE_CHOSEN)
    ended = line.ended
    line.hold_answers()
    chosen = []
    for node in nodes(view, "pruned").all()[:2]:
        node.click()
        chosen.append(str(chosen_node(view)))
        ended += 1
        wait_until(page, partial(line.has_ended, ended), "nothing was told")
    line.release_run()
    expect(page.get_by_text(f"picked Chosen(node={chosen[0]})")).to_be_visible()
    line.release()
    settle(page)
    assert page.evaluate("window.chosen") == chosen


@pytest.mark.slow
def test_nothing_can_follow_an_end(page: Page, url: str) -> None:
    view = open_view(page, url, "tree", "beam=4&steps=9")
    nodes(view, "ended").nth(1).click()
    expect(view.get_by_role("button", name="Continue from here")).to_be_disabled()
    view.locator(".hl-tree").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("picked Chosen")).to_be_visible()
    expect(page.get_by_text("picked GoOn")).to_have_count(0)


@pytest.mark.slow
def test_a_returned_sentence_shows_its_path(page: Page, url: str) -> None:
    view = open_view(page, url, "tree", "beam=4&steps=9")
    row = view.locator(".hl-ranking button").nth(2)
    row.click()
    expect(row).to_have_attribute("aria-pressed", "true")
    sentence = row.locator(".word").inner_text().split()
    assert sentence == made_up_search(4, 9)[1][2].text.split()
    expect(nodes(view, "path")).to_have_count(1 + len(sentence))
    search = made_up_search(4, 9)[0]
    on_path = sorted(map(node_number, nodes(view, "path").all()))
    assert sentence == [search[i].token for i in on_path[1:]]


# Temperature, top-k and top-p


MOVE_SLIDERS = """
(root, stops) => {
  for (const [i, slider] of root.querySelectorAll("input").entries()) {
    slider.value = stops[i];
    slider.dispatchEvent(new Event("input"));
  }
}
"""


def test_the_bars_are_what_the_sampler_draws_from(page: Page, url: str) -> None:
    """tests/js/test_scripts.py checks the other settings, without the bars."""
    view = open_view(page, url, "next", "tokens=997")
    logits = torch.from_numpy(next_logits(997))
    for temperature, top_k, top_p in ((0.05, 0, 1.0), (1.0, 5, 1.0), (3.0, 0, 0.9), (0.7, 40, 0.5)):
        stops = TEMPERATURES.index(temperature), TOP_KS.index(top_k), TOP_PS.index(top_p)
        view.evaluate(MOVE_SLIDERS, stops)
        told = state(view)
        assert told["settings"] == {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        expected = sampling_distribution(logits, temperature=temperature, top_k=top_k, top_p=top_p).numpy()
        np.testing.assert_allclose(told["probabilities"], expected, atol=2e-6)
        nucleus = told["nucleus"]
        assert (expected[nucleus:] == 0).all()
        if temperature >= 0.7:  # below that, float32 has zeros where the browser has tiny numbers
            assert (expected[:nucleus] > 0).all()
        widths = view.locator(".track .now").evaluate_all(
            "bars => bars.map((bar) => parseFloat(bar.style.width))"
        )
        np.testing.assert_allclose(np.array(widths[:12]) / 100, expected[:12], atol=2e-6)


def test_the_bars_move_at_once_and_python_hears_of_it(page: Page, url: str) -> None:
    view = open_view(page, url, "next")
    widths = view.evaluate(
        """root => {
        const slider = root.querySelector("input");
        const width = () => root.querySelector(".now").style.width, before = width();
        slider.value = 39;
        slider.dispatchEvent(new Event("input"));
        return [before, width()]; }"""
    )
    assert widths[0] != widths[1], "before the browser draws again"
    assert state(view)["settings"]["temperature"] == 2
    view.get_by_role("slider").nth(1).fill("4")
    expect(page.get_by_text("picked Reshaping(temperature=2.0, top_k=5, top_p=1.0)")).to_be_visible()


TELL_ON_LEAVING = """
async ([source, frame]) => {
  const { mount } = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const told = [];
  const host = { get: () => Uint8Array.from(frame), onChange() {}, select: (choice) => told.push(choice) };
  const element = document.body.appendChild(document.createElement("div"));
  const end = mount(element.attachShadow({ mode: "open" }), host);
  const slider = element.shadowRoot.querySelector("input");
  slider.focus();
  slider.value = 39;
  slider.dispatchEvent(new Event("input"));
  slider.dispatchEvent(new Event("change"));
  const before = told.length;
  slider.blur();
  end();
  element.remove();
  return [before, told];
}
"""
"""Mounts the view in a host made for the test."""


def test_a_choice_is_told_before_the_user_turns_elsewhere(
    page: Page, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames: list[bytes] = []
    monkeypatch.setattr(ClientView, "mount", lambda _, frame, **options: frames.append(frame))
    next_tokens(
        next_logits(40),
        words(40),
        open_tokens=[True] * 40,
        chosen=None,
        settings=Reshaping(),
        colors=palette("light"),
        key="next",
    )
    page.goto(url)
    script = (ROOT / "headlight" / "browser" / "next_tokens.js").read_text(encoding="utf-8")
    before, told = page.evaluate(TELL_ON_LEAVING, [script, list(frames[0])])
    assert before == 0, "a slider that is still moving is waited for"
    assert told == [{"temperature": 2, "top_k": 0, "top_p": 1}]


def test_what_is_cut_off_is_named(page: Page, url: str) -> None:
    view = open_view(page, url, "next")
    told = view.locator(".hl-outcome")
    expect(told).to_contain_text("Nothing is cut off. 6,000 tokens can be drawn.")
    view.get_by_role("slider").nth(1).fill("4")
    raw = torch.from_numpy(next_logits(6_000)).softmax(0)
    expect(told).to_contain_text("Top-k cuts off 5,995 tokens")
    expect(told).to_contain_text(f"{100 * float(raw[5:].sum()):.1f} % of the probability")
    view.get_by_role("slider").nth(2).fill("13")
    expect(told).to_contain_text("top-p cuts off")
    expect(view.get_by_role("listitem").filter(has_text="cut by top-k").first).to_be_visible()
    expect(view.get_by_role("listitem").filter(has_text="cut by top-p").first).to_be_visible()


@pytest.mark.slow
def test_a_token_of_the_list_is_gone_on_with(page: Page, url: str) -> None:
    view = open_view(page, url, "next")
    view.locator("button.word").nth(4).click()
    expect(page.get_by_text("picked TokenChoice(rank=4)")).to_be_visible()
    expect(view.locator("button.word").nth(3)).to_be_disabled()
    view.get_by_role("button", name="Show 40 tokens").click()
    expect(view.locator("button.word")).to_have_count(40)
