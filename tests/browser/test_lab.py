"""The Lab in a real browser: a mistake is chosen, a patient guessed, a leak trained, by address too."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.headlight import TOY, settle, visit
from transformer.checkpoints.opening import open_model
from viz.pages.lab.mistakes import MISTAKES
from viz.pages.lab.mistakes.drawing import drawn
from viz.pages.lab.mistakes.mistake import Mistake


def address(page: Page) -> dict[str, str]:
    """What the address says."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def choose(page: Page, label: str, title: str) -> None:
    """Choose in a list by typing, as one does in a long one."""
    box = page.get_by_role("combobox", name=re.compile(label))
    box.click()
    box.fill(title)
    page.get_by_role("option", name=re.compile(re.escape(title))).first.click()
    settle(page)


def patient(seed: int) -> Mistake:
    found = drawn(seed, 1, open_model("toy-en-it").model.config)
    assert found is not None
    return found


def heading(page: Page, name: str) -> Locator:
    return page.get_by_role("heading", name=name, exact=True)


def test_a_mistake_is_chosen_and_its_address_opens_it_again(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/lab{TOY}")
    title = MISTAKES["positions-along-batch"].title
    choose(page, "Mistake", title)
    expect(heading(page, title)).to_be_visible()
    assert address(page)["mistake"] == "positions-along-batch"
    numbers = page.get_by_test_id("stMetricValue")
    shown = numbers.all_inner_texts()
    expect(page.locator(".hl-decoding_steps")).to_have_count(2)
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    kept = page.url
    page.get_by_role("button", name="Next mistake").click()
    settle(page)
    assert address(page)["mistake"] != "positions-along-batch"
    visit(page, kept)
    expect(heading(page, title)).to_be_visible()
    assert numbers.all_inner_texts() == shown


@pytest.mark.slow
def test_a_patient_is_guessed_and_nothing_names_it_before(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/lab{TOY}&mistake=base-1000")
    page.get_by_text("Guess the bug", exact=True).click()
    settle(page)
    page.get_by_role("button", name="Another").click()
    settle(page)
    assert address(page)["bug"] == "1"
    assert "mistake" not in address(page)
    mistake = patient(1)
    assert mistake.title not in page.locator("main").inner_text()
    assert mistake.name not in page.content()
    other = patient(0)
    choose(page, "Your diagnosis", other.title)
    page.get_by_role("button", name="That is it").click()
    settle(page)
    expect(page.get_by_text("Not quite.")).to_be_visible()
    expect(page.get_by_test_id("stMetricValue")).to_have_count(2)
    choose(page, "Your diagnosis", mistake.title)
    page.get_by_role("button", name="That is it").click()
    settle(page)
    expect(page.get_by_text(f"✓ Right: {mistake.title}.")).to_be_visible()
    page.get_by_role("button", name="Open this mistake in the lab").click()
    settle(page)
    expect(heading(page, mistake.title)).to_be_visible()
    assert address(page)["mistake"] == mistake.name


@pytest.mark.slow
def test_a_leak_is_trained_and_its_loss_falls(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/lab{TOY}&mistake=no-shift")
    page.get_by_role("button", name="Start", exact=True).click()
    progress = page.get_by_test_id("stProgress")
    expect(progress).to_contain_text("Learning", timeout=120_000)
    expect(page.get_by_text(re.compile("After [0-9,]+ updates it writes"))).to_be_visible()
    page.get_by_role("button", name="Stop and clear").click()
    expect(page.get_by_text("Nothing is being trained yet.")).to_be_visible()
