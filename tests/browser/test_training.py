"""The Training page in a browser: a training run by the clock, its end with the page, the slider and Play."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ColorScheme, OpenPage
from tests.browser.headlight import (
    attention,
    expect_other_picture,
    head_map,
    page_link,
    picture,
    settle,
    visit,
)

PATIENCE_MILLISECONDS = 120_000
SMALL = "train_layers=1&train_heads=2&train_width=32"
LONG = "train_steps=10,000&train_layers=4&train_heads=2&train_width=128"
"""Minutes on any machine: it ends because the test ends it."""
FINISHED = "watch=A+finished+training"


def workers() -> set[int]:
    """The processes that train now for the server of these tests; other runs have theirs."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    children: dict[int, set[int]] = {}
    training: set[int] = set()
    for line in listed.stdout.splitlines():
        pid, parent, *arguments = line.split(maxsplit=2)
        children.setdefault(int(parent), set()).add(int(pid))
        if "transformer.training.live.worker" in "".join(arguments):
            training.add(int(pid))
    ours, found = {os.getpid()}, {os.getpid()}
    while found:
        found = set().union(*(children.get(pid, set()) for pid in found))
        ours |= found
    return training & ours


def test_a_training_goes_on_by_itself_and_ends_with_its_page(open_page: OpenPage, app_url: str) -> None:
    others = workers()
    page = open_page()
    visit(page, f"{app_url}/training?task=Copy&{LONG}")
    page.get_by_role("button", name="Start").click()
    progress = page.get_by_test_id("stProgress")
    expect(progress).to_contain_text("Learning", timeout=PATIENCE_MILLISECONDS)
    expect(head_map(page)).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    before = progress.inner_text()
    expect(progress).not_to_have_text(before, timeout=PATIENCE_MILLISECONDS)
    assert workers() - others

    page_link(page, "Positions").click()
    expect(page.get_by_role("heading", name="Positions", level=1)).to_be_visible()
    expect(page.get_by_text("Copy is learning")).to_be_visible()
    page_link(page, "Training").click()
    expect(progress).to_contain_text("Learning", timeout=PATIENCE_MILLISECONDS)

    page.get_by_role("button", name="Pause").click()
    expect(progress).to_contain_text("Paused", timeout=PATIENCE_MILLISECONDS)
    page.get_by_role("button", name="Resume").click()
    expect(progress).to_contain_text("Learning", timeout=PATIENCE_MILLISECONDS)
    page.context.close()
    deadline = time.monotonic() + PATIENCE_MILLISECONDS / 1000
    while workers() - others:
        assert time.monotonic() < deadline, "the training outlived its page"
        time.sleep(0.2)


@pytest.mark.slow
def test_another_page_soon_tells_that_the_training_has_ended(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/training?task=Copy&train_steps=200&{SMALL}")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_test_id("stProgress")).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    page_link(page, "Positions").click()
    expect(page.get_by_role("heading", name="Positions", level=1)).to_be_visible()
    expect(page.get_by_text("Copy has finished learning")).to_be_visible(timeout=PATIENCE_MILLISECONDS)


def test_the_slider_goes_back_and_play_goes_on(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/training?{FINISHED}")
    expect(page.get_by_text("After 6,804 updates it writes")).to_be_visible()
    finished = picture(head_map(page))
    page.get_by_role("slider", name="Updates so far").press("Home")
    expect(page.get_by_text("After 0 updates it writes")).to_be_visible()
    settle(page)
    expect_other_picture(head_map(page), finished)
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_text("After 53 updates it writes")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_holds_the_page(open_page: OpenPage, app_url: str, scheme: ColorScheme) -> None:
    page = open_page(scheme)
    page.set_viewport_size({"width": 400, "height": 900})
    visit(page, f"{app_url}/training?{FINISHED}")
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth <= main.clientWidth")


@pytest.mark.slow
def test_the_choices_above_the_heads_are_whole_on_a_narrow_screen(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    visit(page, f"{app_url}/training?{FINISHED}")
    for buttons in (
        attention(page).get_by_role("group", name="Which attention"),
        page.get_by_role("radiogroup", name="The target that the decoder reads"),
    ):
        assert buttons.evaluate("buttons => buttons.scrollWidth <= buttons.clientWidth")
