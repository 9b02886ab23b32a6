"""The theme switch changes the whole app at once, keeps what was typed, and is remembered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Serve
from viz.theme import ThemeName, palette

APP = Path(__file__).parent / "apps" / "theme_app.py"


@pytest.fixture(scope="module")
def url(serve: Serve) -> str:
    return serve(APP)


CHOOSE_DARK_AT_ONCE = """
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (options) {
  const root = attach.call(this, options);
  const observer = new MutationObserver(() => {
    const dark = root.querySelector("input[value=Dark]");
    if (!dark) return;
    observer.disconnect();
    window.choseBefore = !root.querySelector("fieldset").ontransitionstart;
    dark.checked = true;
  });
  observer.observe(root, { childList: true, subtree: true });
  return root;
};
"""
"""Chooses before the switch's script has loaded, as a quick user would."""
HIDE_REACT = """
const keys = Object.keys;
Object.keys = (value) => keys(value).filter((name) => !name.startsWith("__reactFiber$"));
"""
FAILURE = re.compile("does not let the app change its theme")


def choose(page: Page, label: str) -> None:
    page.get_by_text(label, exact=True).click()


def expect_theme(page: Page, name: ThemeName) -> None:
    """Check that the browser paints this theme and Python draws figures for it."""
    red, green, blue = (int(palette(name).background[start : start + 2], 16) for start in (1, 3, 5))
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", f"rgb({red}, {green}, {blue})")
    expect(page.get_by_text(f"theme in Python: {name}")).to_be_visible()


def test_a_choice_changes_the_app_at_once_and_keeps_the_session(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_label("Sentence").fill("a raccoon")
    page.get_by_label("Sentence").press("Enter")
    expect_theme(page, "light")
    page.evaluate("window.sameDocument = true")
    choose(page, "Dark")
    expect_theme(page, "dark")
    choose(page, "Light")
    expect_theme(page, "light")
    expect(page.get_by_text(FAILURE)).to_be_hidden()
    assert page.evaluate("window.sameDocument")
    expect(page.get_by_label("Sentence")).to_have_value("a raccoon")


@pytest.mark.slow
def test_a_choice_is_remembered_on_every_page(page: Page, url: str) -> None:
    page.goto(url)
    expect_theme(page, "light")
    choose(page, "Dark")
    expect_theme(page, "dark")
    page.get_by_role("link", name="Second").click()
    expect(page.get_by_text("the second page")).to_be_visible()
    expect_theme(page, "dark")
    page.reload()
    expect(page.get_by_text("the second page")).to_be_visible()
    expect_theme(page, "dark")
    expect(page.get_by_role("radio", name="Dark")).to_be_checked()


def test_without_a_choice_the_system_decides(open_page: OpenPage, url: str) -> None:
    page = open_page("dark")
    page.goto(url)
    expect_theme(page, "dark")
    page.emulate_media(color_scheme="light")
    expect_theme(page, "light")
    choose(page, "Dark")
    expect_theme(page, "dark")
    choose(page, "System")
    expect_theme(page, "light")


@pytest.mark.slow
def test_the_choice_can_be_made_by_keyboard(page: Page, url: str) -> None:
    page.goto(url)
    expect_theme(page, "light")
    page.get_by_role("radio", name="System").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect_theme(page, "dark")


@pytest.mark.slow
def test_a_choice_made_before_the_script_is_there_counts(open_page: OpenPage, url: str) -> None:
    page = open_page()
    page.add_init_script(CHOOSE_DARK_AT_ONCE)
    page.goto(url)
    expect_theme(page, "dark")
    assert page.evaluate("window.choseBefore")
    expect(page.get_by_role("radio", name="Dark")).to_be_checked()


@pytest.mark.slow
def test_a_streamlit_that_hides_its_theme_is_told_of(open_page: OpenPage, url: str) -> None:
    """Another version of Streamlit may hide it; the system's theme then applies."""
    page = open_page()
    page.add_init_script(HIDE_REACT)
    page.goto(url)
    expect(page.get_by_text(FAILURE)).to_be_visible()
    page.emulate_media(color_scheme="dark")
    expect_theme(page, "dark")
