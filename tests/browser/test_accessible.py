"""axe-core finds no accessibility problem on any page, in either theme."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Page, expect

from tests.browser.headlight import page_link, settle, visit
from tests.support.checkpoints import hostile_file
from viz.theme import ThemeName, palette

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
RULES: dict[ThemeName, dict[str, list[str]]] = {
    "light": {"resultTypes": ["violations"]},
    "dark": {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]},
}
"""All rules of axe-core, best practices included; in the dark theme only those that a theme can break."""
FOUND = """
async (rules) => (await axe.run(document, rules)).violations.flatMap((rule) => rule.nodes.filter(
  // A role that Streamlit gives to its own box for files.
  ({ html }) => rule.id !== "presentation-role-conflict" || !html.includes("stFileUploaderDropzone"),
).map((node) => {
  const why = [...node.any, ...node.all, ...node.none].map(({ message }) => message).join("; ");
  const where = node.target.flat().join(" >> ");
  return `${rule.id}: ${why}\\n    ${node.html.slice(0, 200)}\\n    at ${where.slice(-160)}`;
}))
"""
ARE_DRAWN = """
(color) => {
  const views = [];
  const visit = (node) => {
    if (node.style?.getPropertyValue("--hl-text")) views.push(node);
    for (const child of [...(node.shadowRoot?.children ?? []), ...node.children]) visit(child);
  };
  visit(document.body);
  const figures = [...document.querySelectorAll(".js-plotly-plot")];
  return (
    views.every((view) => view.style.getPropertyValue("--hl-text") === color) &&
    figures.every((figure) => figure._fullLayout?.font.color === color)
  );
}
"""
"""True once Python has drawn all views and figures in the theme with this text colour."""
PAGES = {
    "": "Explore",
    "learn?lesson=one-head": "Learn",
    "step-by-step?stage=self-weights": "Step by step",
    "training": "Training",
    "scenes": "Scenes",
}
"""Pages by their address, with their titles."""
OTHER_PAGES = {
    "explore": "Explore",
    "?large=true": "Explore",
    "learn": "Learn",
    "learn?lesson=masks&answers=true": "Learn",
    "lab": "Lab",
    "lab?lab=Guess+the+bug": "Lab",
    "decode": "Decode",
    "decode?section=Teacher+forcing": "Decode",
    "why": "Why",
    "why?section=Came+from": "Why",
    "why?section=Sums": "Why",
    "training?watch=A+finished+training": "Training",
    "positions": "Positions",
    "masks": "Masks",
    "layer-norm": "Layer norm",
    "checkpoint": "Checkpoint",
    "heads": "Heads",
}
"""The other pages, and other addresses of the pages above."""


def troubles(page: Page, scheme: ThemeName) -> list[str]:
    """Problems that axe-core finds on the page in a theme, shadow trees included."""
    page.emulate_media(color_scheme=scheme)
    red, green, blue = (int(palette(scheme).background[start : start + 2], 16) for start in (1, 3, 5))
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", f"rgb({red}, {green}, {blue})")
    page.wait_for_function(ARE_DRAWN, arg=palette(scheme).text)
    settle(page)
    return [f"{scheme}: {found}" for found in page.evaluate(FOUND, RULES[scheme])]


def check(page: Page) -> None:
    page.evaluate(AXE)
    found = troubles(page, "light") + troubles(page, "dark")
    assert not found, "\n".join(found)


def unfold(page: Page) -> None:
    """Unfold everything on the page."""
    folded = page.locator("main details:not([open]) > summary:visible")
    while folded.count():
        folded.first.click()
    settle(page)


@pytest.mark.parametrize(
    "address, title",
    [*PAGES.items(), *(pytest.param(*other, marks=pytest.mark.slow) for other in OTHER_PAGES.items())],
)
def test_a_page_has_an_address_and_nothing_on_it_is_out_of_reach(
    page: Page, app_url: str, address: str, title: str
) -> None:
    visit(page, f"{app_url}/{address}")
    expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
    expect(page_link(page, title)).to_have_attribute("aria-current", "page")
    expect(page.get_by_text("Page not found")).to_have_count(0)
    unfold(page)
    check(page)


@pytest.mark.slow
def test_nothing_about_kept_scenes_is_out_of_reach(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/?cell=2,1")
    for caption in ("The subject is found.", ""):
        page.get_by_role("textbox", name="Caption of the scene").fill(caption)
        page.get_by_role("button", name="Keep this").click()
        settle(page)
    page_link(page, "Scenes").click()
    expect(page.get_by_role("heading", name="Scenes", level=1)).to_be_visible()
    settle(page)
    check(page)


@pytest.mark.slow
def test_nothing_about_an_opened_checkpoint_is_out_of_reach(page: Page, app_url: str, tmp_path: Path) -> None:
    """The checkpoint has questions, warnings, problems and unmatched names."""
    visit(page, f"{app_url}/checkpoint")
    page.locator("main").get_by_text("A path on this machine").first.click()
    box = page.get_by_role("textbox", name="File of weights, or folder of a model")
    box.fill(str(hostile_file(tmp_path / "odd.safetensors")))
    page.get_by_role("button", name="Open it", exact=True).click()
    expect(page.get_by_role("heading", name="Open questions")).to_be_visible()
    settle(page)
    page.get_by_role("tab", name="Names that did not fit").click()
    settle(page)
    check(page)
