"""Tokens that look like markup stay text in every picture of the viewer, in app, notebook and file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, expect

import headlight
from tests.browser.components.views import press
from tests.browser.conftest import guarded_page
from tests.browser.headlight import TOY, attention, settle, visit
from tests.browser.notebook.test_widget import open_widget
from viz.figures.labels import visible, visible_in_full
from viz.viewer.choice import Choice
from viz.viewer.page import Heading, page
from viz.viewer.viewer_run import ViewerRun, view_weights

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "javascript:alert(3)",
    "</style><b>",
    "</script><!--",
    "{{7*7}}${7*7}",
    "\u202eabc\u202c",
    "\u2028\x00\ud800",
    "&lt;b&gt;",
)
VIEWS = ("One head", "All heads", "Lines", "One token")
MADE_OF_TOKENS = "img, a[href^='javascript'], script, iframe, object, [onerror]"
# The texts, accessible names and tooltips of everything in the visible view.
SAID = """
(root) => {
  const said = [root.innerText];
  for (const node of root.querySelectorAll("[aria-label], [title], text, option"))
    said.push(node.getAttribute("aria-label"), node.getAttribute("title"), node.textContent);
  return said.filter((text) => text).join("\\n");
}
"""


def held_run() -> ViewerRun:
    """A run with these tokens and all three attentions."""
    rng = np.random.default_rng(5)
    n = len(HOSTILE)
    weights = [rng.dirichlet(np.ones(n), (2, n)).astype(np.float32) for _ in range(2)]
    before = [np.tril(layer) / np.tril(layer).sum(axis=-1, keepdims=True) for layer in weights]
    return view_weights(
        {"encoder": weights, "decoder": before, "cross": weights},
        {"encoder": HOSTILE, "decoder": HOSTILE},
    )


def unfold(view: Locator) -> None:
    folded = view.locator("details:not([open]) > summary").filter(visible=True)
    while folded.count():
        folded.first.click()


def look_everywhere(view: Locator) -> str:
    """Show each picture with its tables, fail if a token became markup, and return all the text."""
    said = []
    for name in VIEWS:
        press(view, name)
        unfold(view)
        stages = view.locator("[tabindex='0'][role]").filter(visible=True)
        for stage in stages.all():
            stage.focus()
            view.page.keyboard.press("ArrowDown")
            view.page.keyboard.press("ArrowRight")
            said.append(view.evaluate(SAID))
        assert view.locator(MADE_OF_TOKENS).count() == 0, name
    return "\n".join(said)


def expect_all_said(said: str) -> None:
    for token in HOSTILE:
        assert visible(token) in said, token


def test_in_a_file(chromium: Browser, tmp_path: Path) -> None:
    """It makes no request but for itself."""
    path, sentence = tmp_path / "hostile.html", " ".join(HOSTILE)
    heading = Heading(sentence, f"{sentence}!", sentence)
    path.write_bytes(page(held_run(), Choice("cross", 1, 0, cell=(3, 2)), heading))
    with guarded_page(chromium) as (opened, guard):
        opened.goto(path.as_uri())
        view = opened.locator(".hl-attention")
        expect(view).to_be_visible()
        expect(opened.get_by_role("heading", level=1)).to_have_text(visible_in_full(sentence))
        expect(opened.locator(".translation")).to_have_text(f"{visible_in_full(sentence)}!")
        assert opened.locator("img, b, script:not([type])").count() == 0
        expect_all_said(look_everywhere(view))
        guard.check()
        assert guard.requests == [path.as_uri()]


@pytest.mark.slow
def test_in_a_notebook(chromium: Browser) -> None:
    held = held_run()
    encoder, decoder, cross = (
        [attn.weights(layer)[None] for layer in range(2)] for attn in held.attentions.values()
    )
    widget = headlight.show_attention(
        encoder_attention=encoder,
        decoder_attention=decoder,
        cross_attention=cross,
        encoder_tokens=HOSTILE,
        decoder_tokens=HOSTILE,
    )
    with guarded_page(chromium) as (opened, guard):
        expect_all_said(look_everywhere(open_widget(opened, widget)))
        guard.check()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["", TOY], ids=["sub-words", "words"])
def test_in_the_app(chromium: Browser, app_url: str, model: str) -> None:
    text = "%3Cimg src=x onerror=alert(1)%3E %3Cb%3E&cell=2,1"
    with guarded_page(chromium) as (opened, guard):
        visit(opened, f"{app_url}/{model or '?'}&text={text}")
        said = look_everywhere(attention(opened))
        assert all(letters in said for letters in "<=>")
        settle(opened)
        guard.check()
