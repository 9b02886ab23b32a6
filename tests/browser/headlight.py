"""What users do and see in the app, as functions for the tests."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from scripts.browser import wait_until_idle
from viz.components.shared.client_view import JSON

TOY = "?model=toy-en-it"
"""Query string that selects the model of whole words."""

# All text on the page, including text inside client-side views.
ALL_TEXT = """
() => {
  const texts = [];
  const visit = (node) => {
    if (node.nodeType === Node.TEXT_NODE) texts.push(node.data);
    if (node.tagName === "INPUT" || node.tagName === "TEXTAREA") texts.push(node.value);
    for (const child of [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]) {
      if (!["STYLE", "SCRIPT"].includes(child.tagName)) visit(child);
    }
  };
  visit(document.body);
  return texts.join("\\n");
}
"""
QUIET_MILLISECONDS = 250
PATIENCE_SECONDS = 60.0
"""Longest wait for anything, even on a busy machine."""
MIDDLE_OF_MAP = """
(root, [layer, head]) => {
  const maps = root.querySelector(".hl-grid canvas");
  maps.scrollIntoView({ block: "center" });
  const { left, top } = maps.getBoundingClientRect();
  const [x, y] = root.state().middles[layer][head];
  return [left + x, top + y];
}
"""


def visit(page: Page, address: str) -> None:
    """Open an address and wait until everything is drawn without an exception and keys work."""
    page.goto(address)
    settle(page)
    if page.locator(".st-key-page_helpers").count():
        expect(page.locator("html[data-headlight]")).to_be_attached()


def settle(page: Page) -> None:
    """Wait until the page has run and no view is waiting; fail on an exception."""

    def is_at_rest() -> bool:
        wait_until_idle(page, quiet=QUIET_MILLISECONDS)
        is_loading = page.get_by_test_id("stSkeleton").count() > 0  # the script of a table or figure
        return not is_loading and not is_telling(page.locator(".hl"))

    wait_until(page, is_at_rest, "a view is still loading or waiting")
    assert page.get_by_test_id("stException").all_inner_texts() == []


def open_section(page: Page, name: str) -> None:
    """Choose a section of the page in its menu."""
    page.locator(".st-key-section_menu").get_by_text(name, exact=True).click()
    settle(page)


def is_telling(views: Locator) -> bool:
    """True while one of these views has something to report or waits for an answer."""
    told: bool = views.evaluate_all("views => views.some((view) => view.isPending?.())")
    return told


def page_link(page: Page, title: str) -> Locator:
    """The link to a page in the sidebar; glossary terms are links too."""
    return page.get_by_test_id("stSidebarNavItems").get_by_role("link", name=title, exact=True)


def sentence_box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="English sentence")


def type_sentence(page: Page, text: str) -> None:
    sentence_box(page).fill(text)
    sentence_box(page).press("Enter")


def source_tokens(page: Page) -> Locator:
    """The tokens given to the model, one element each."""
    return page.locator(".hl-token_strip").first.locator("span.word")


def expect_sentence(page: Page, letters: str) -> None:
    """Wait until the model's tokens spell these letters, ignoring spaces."""

    def shown() -> str:
        return spelled(source_tokens(page).all_inner_texts()).removesuffix("<eos>")

    wait_until(page, lambda: shown() == letters, f"the tokens never spelled {letters[:100]!r}")


def spelled(tokens: list[str]) -> str:
    """The text of words or sub-words, without spaces."""
    text = "".join(tokens).replace("▁", "")
    in_bytes = re.compile(r"(?:<0x[0-9A-F]{2}>)+")
    return in_bytes.sub(lambda run: bytes.fromhex(re.sub(r"<0x|>", "", run[0])).decode(), text)


def attention(page: Page) -> Locator:
    """The first attention viewer on the page."""
    return page.locator(".hl-attention").first


def output(page: Page) -> Locator:
    """The output above the viewer's pictures."""
    return attention(page).locator(".hl-words")


def table(page: Page) -> Locator:
    """The page's first table, once its cells are drawn: before, its frame is there and loses clicks."""
    frame = page.get_by_test_id("stDataFrame").first
    expect(frame.get_by_test_id("data-grid-canvas")).to_be_visible()
    return frame


def head_map(page: Page) -> Locator:
    """The chosen head, drawn large."""
    return attention(page).locator(".hl-head .hl-matrix").first


def choice(page: Page) -> dict[str, JSON]:
    """What is chosen in the viewer."""
    told: dict[str, JSON] = attention(page).evaluate("root => root.state().choice")
    return told


def picture(view: Locator) -> str:
    """The pixels of a canvas, as text that can be compared."""
    return str(view.evaluate("(root) => root.querySelector('canvas').toDataURL()"))


def expect_picture(view: Locator, expected: str) -> None:
    """Wait until a canvas shows this picture."""
    wait_until(view.page, lambda: picture(view) == expected, "the canvas never showed that picture")


def expect_other_picture(view: Locator, before: str) -> None:
    """Wait until a canvas shows anything but this picture."""
    wait_until(view.page, lambda: picture(view) != before, "the canvas went on showing the same picture")


def wait_until(page: Page, is_so: Callable[[], bool], otherwise: str) -> None:
    """Poll a condition while the page keeps running; fail with this message after `PATIENCE_SECONDS`."""
    wait_for(is_so, otherwise, lambda: page.wait_for_timeout(50))


def wait_for(
    is_so: Callable[[], bool], otherwise: str, pause: Callable[[], object] = lambda: time.sleep(0.2)
) -> None:
    """Poll a condition that needs no page; fail with this message after `PATIENCE_SECONDS`."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, otherwise
        pause()


def click_head(page: Page, layer: int, head: int) -> None:
    """Click a map in the grid of all heads."""
    x, y = attention(page).evaluate(MIDDLE_OF_MAP, [layer, head])
    page.mouse.click(x, y)


def all_text(page: Page) -> str:
    return str(page.evaluate(ALL_TEXT))
