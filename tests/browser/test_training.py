"""The Training page in a browser: a live training run that ends with its page, the slider and Play."""

from __future__ import annotations

import os
import subprocess

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.headlight import (
    attention,
    expect_other_picture,
    head_map,
    page_link,
    picture,
    settle,
    visit,
    wait_for,
)

SMALL = "train_layers=1&train_heads=2&train_width=32"
LONG = "train_steps=10,000&train_layers=4&train_heads=2&train_width=128"
"""Takes minutes on any machine; the test ends it early."""
FINISHED = "watch=A+finished+training"


def workers() -> set[int]:
    """Ids of the training processes that descend from this process."""
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
    expect(progress).to_contain_text("Learning")
    expect(head_map(page)).to_be_visible()
    before = progress.inner_text()
    expect(progress).not_to_have_text(before)
    assert workers() - others

    page_link(page, "Positions").click()
    expect(page.get_by_role("heading", name="Positions", level=1)).to_be_visible()
    expect(page.get_by_text("Copy is learning")).to_be_visible()
    page_link(page, "Training").click()
    expect(progress).to_contain_text("Learning")

    page.get_by_role("button", name="Pause").click()
    expect(progress).to_contain_text("Paused")
    page.get_by_role("button", name="Resume").click()
    expect(progress).to_contain_text("Learning")
    page.context.close()
    wait_for(lambda: not workers() - others, "the training outlived its page")


@pytest.mark.slow
def test_another_page_soon_tells_that_the_training_has_ended(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/training?task=Copy&train_steps=200&{SMALL}")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_test_id("stProgress")).to_be_visible()
    page_link(page, "Positions").click()
    expect(page.get_by_role("heading", name="Positions", level=1)).to_be_visible()
    expect(page.get_by_text("Copy has finished learning")).to_be_visible()


@pytest.mark.slow
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
def test_a_narrow_screen_holds_the_page_and_the_choices_above_the_heads(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    visit(page, f"{app_url}/training?{FINISHED}")
    for part in (
        page.get_by_test_id("stMain"),
        attention(page).locator(".hl-bars-of-choice"),
        page.get_by_role("radiogroup", name="The target that the decoder reads"),
    ):
        assert part.evaluate("part => part.scrollWidth <= part.clientWidth")
