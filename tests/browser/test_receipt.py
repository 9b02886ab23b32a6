"""The receipt of what heads cost is saved wherever the costs are shown, and computed again from that file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import headlight
from tests.browser.components.views import picker
from tests.browser.conftest import guarded_page
from tests.browser.headlight import settle, visit
from tests.browser.notebook.test_widget import answer, asked_for, open_widget
from tests.viz.mounted import unpack_frame
from transformer.__main__ import main
from transformer.analysis.receipts.receipt import Receipt, this_version
from viz.viewer.frames import update_frame
from viz.viewer.viewer_run import view_run

MODEL, SENTENCE, TARGET = "toy-en-it", "The black cat sees the small dog.", "Il gatto nero vede il cane."


@pytest.fixture(scope="module")
def run() -> headlight.Run:
    return headlight.run(headlight.open(MODEL), SENTENCE, TARGET)


def saved(page: Page, view: Locator, folder: Path) -> Path:
    """Open the receipt below the heads, and save it."""
    receipt = view.locator("details", has=page.get_by_text("Receipt of these costs", exact=True))
    receipt.locator("summary").click()
    expect(receipt.locator("dl")).to_contain_text(f"{MODEL}, weights with SHA-256")
    expect(receipt.locator("dl")).to_contain_text(this_version())
    with page.expect_download() as download:
        receipt.get_by_role("button", name="Save as JSON").click()
    assert download.value.suggested_filename == "headlight-costs.json"
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def check(path: Path, run: headlight.Run, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Check that the file has the costs that the viewer of the run shows, and is computed again."""
    receipt = Receipt.from_json(path.read_text(encoding="utf-8"))
    assert receipt.inquiry.pairs == ((SENTENCE, target),)
    viewed = view_run(run.computed, run.model, typed=run.typed)
    pieces = [f"costs:{name}" for name in viewed.attentions]
    _, arrays = unpack_frame(update_frame(viewed, None, pieces))
    costs = np.concatenate([arrays[f"{piece}/cost"].ravel() for piece in pieces])
    np.testing.assert_allclose(receipt.effects, costs, atol=1e-6)
    assert main(["why", "--receipt", str(path)]) == 0
    assert "The same numbers: the largest difference is" in capsys.readouterr().out


def test_a_saved_page_has_it_without_a_network(
    chromium: Browser, run: headlight.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.to_html(tmp_path / "cat.html")
    with guarded_page(chromium) as (page, guard):
        page.goto((tmp_path / "cat.html").as_uri())
        body = page.locator("body")
        expect(page.get_by_text("Table of these heads")).to_be_visible()
        expect(page.get_by_text("Receipt of these costs")).to_be_hidden()
        picker(body, "Order of the small heads").select_option("cost")
        path = saved(page, body, tmp_path)
        guard.check()
        assert guard.requests == [(tmp_path / "cat.html").as_uri()]
    check(path, run, TARGET, capsys)


def test_a_notebook_asks_python_for_it(
    page: Page, run: headlight.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    widget = headlight.show(run)
    view = open_widget(page, widget)
    assert "receipt" not in asked_for(page)
    picker(view, "Order of the small heads").select_option("cost")
    page.wait_for_function("window.sent.some(one => one.fetch?.includes('receipt'))")
    answer(page, widget, asked_for(page))
    check(saved(page, view, tmp_path), run, TARGET, capsys)


def test_explore_has_it_for_the_model_s_own_translation(
    page: Page, app_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    visit(page, f"{app_url}/?model={MODEL}&text={SENTENCE}&sort=cost")
    settle(page)
    path = saved(page, page.locator(".hl-attention"), tmp_path)
    check(path, headlight.run(headlight.open(MODEL), SENTENCE), "", capsys)
