"""The Checkpoint page in a browser: uploads, paths, the drawing, and two people on one server."""

from __future__ import annotations

import re
import tempfile
import uuid
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.headlight import ALL_TEXT, page_link, settle, visit, wait_for
from tests.support.checkpoints import HOSTILE_NAMES, file_with_a_command, hostile_file, torch_file

TROUBLE = re.compile("stAlertContent(Warning|Error)")
OVERFLOW = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def choose(page: Page, app_url: str, where: str) -> None:
    visit(page, f"{app_url}/checkpoint")
    page.get_by_role("radio", name=where).or_(page.get_by_role("button", name=where)).first.click()
    settle(page)


def press(page: Page, label: str) -> None:
    page.get_by_role("button", name=label, exact=True).click()
    settle(page)


def upload(page: Page, *paths: Path) -> None:
    page.locator("input[type=file]").set_input_files(list(paths))
    expect(page.get_by_text(paths[0].name).first).to_be_visible()
    settle(page)
    press(page, "Open it")


def open_path(page: Page, path: Path) -> None:
    page.get_by_role("textbox", name="File of weights, or folder of a model").fill(str(path))
    press(page, "Open it")


def stored(name: str) -> list[Path]:
    """Uploads of this name on the server."""
    return list(Path(tempfile.gettempdir()).glob(f"headlight-upload-*/*/{name}"))


def block(page: Page, label: str) -> Locator:
    return page.get_by_role("group", name="The model's architecture").get_by_role("button", name=label)


def press_filter(page: Page, kind: str) -> None:
    page.get_by_role("button", name=re.compile(rf"{kind} \d+")).click()


def own_model(page: Page) -> Locator:
    return page.get_by_role("radio", name="your checkpoint")


@pytest.mark.slow
def test_an_upload_is_seen_on_all_pages_and_by_nobody_else(
    open_page: OpenPage, app_url: str, tmp_path: Path
) -> None:
    # Names unique to this run: other servers on this machine store their uploads in the same folder.
    first, second = (f"{name}-{uuid.uuid4().hex[:8]}.pt" for name in ("first", "second"))
    mine, others = open_page(), open_page()
    choose(mine, app_url, "Upload")
    upload(mine, torch_file(tmp_path / first))
    expect(mine.get_by_text(f"Open: {first}")).to_be_visible()
    press(mine, "Use it on all pages")
    expect(own_model(mine)).to_be_checked()
    for name in ("Explore", "Decode", "Positions", "Masks", "Layer norm"):
        page_link(mine, name).click()
        expect(mine.get_by_role("heading", name=name, level=1)).to_be_visible()
        settle(mine)
        assert mine.get_by_test_id(TROUBLE).all_inner_texts() == [], name
        expect(own_model(mine)).to_be_checked()

    choose(others, app_url, "Upload")
    expect(own_model(others)).to_have_count(0)
    expect(others.get_by_text(first)).to_have_count(0)
    visit(others, mine.url)
    expect(own_model(others)).to_have_count(0)
    choose(others, app_url, "Upload")
    upload(others, torch_file(tmp_path / second))
    expect(others.get_by_text(f"Open: {second}")).to_be_visible()
    page_link(mine, "Checkpoint").click()
    settle(mine)
    expect(mine.get_by_text(f"Open: {first}")).to_be_visible()
    press(mine, "Close it")
    expect(own_model(mine)).to_have_count(0)
    expect(own_model(others)).to_have_count(1)
    assert not stored(first)
    assert stored(second)
    others.context.close()
    wait_for(lambda: not stored(second), "the upload outlived its browser")


@pytest.mark.slow
def test_a_number_that_is_not_offered_can_be_typed(page: Page, app_url: str, tmp_path: Path) -> None:
    choose(page, app_url, "A path on this machine")
    open_path(page, torch_file(tmp_path / "mine.pt"))
    asked = page.get_by_role("combobox", name=re.compile("norm_eps"))
    refused = page.get_by_text("'nothing' is not an answer to norm_eps")
    for typed in ("nothing", "0.001"):
        asked.fill(typed)
        asked.press("Enter")
        press(page, "Reopen with these answers")
        expect(refused).to_have_count(int(typed == "nothing"))
    expect(asked).to_have_value("0.001")


@pytest.mark.slow
def test_what_holds_code_is_refused_and_never_run(page: Page, app_url: str, tmp_path: Path) -> None:
    choose(page, app_url, "Upload")
    upload(page, file_with_a_command(tmp_path / "evil.pt"))
    expect(page.get_by_text("This can't be opened.")).to_be_visible()
    expect(page.get_by_text("as attacks do and no weights need")).to_be_visible()


@pytest.mark.slow
def test_names_out_of_a_file_are_text(page: Page, app_url: str, tmp_path: Path) -> None:
    choose(page, app_url, "A path on this machine")
    open_path(page, hostile_file(tmp_path / "odd.safetensors"))
    press_filter(page, "Warnings")
    shown = page.evaluate(ALL_TEXT)
    assert all(name in shown for name in HOSTILE_NAMES[:3])
    assert "\u202e" not in shown
    page.get_by_role("tab", name="Names that did not fit").click()
    settle(page)
    assert page.locator("main img, main a[href*='example.com'], main strong").count() == 0


def test_findings_are_filtered(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/checkpoint?model=toy-en-it")
    page.get_by_role("textbox", name="Sentences for the examination").fill("qwertz zxcvb")
    page.keyboard.press("Control+Enter")
    items = page.locator(".list .item")
    expect(items.first).to_contain_text("Words that the tokenizer does not know")
    everything = items.count()
    press_filter(page, "Warnings")
    expect(items).to_have_count(1)
    expect(items.first).to_contain_text("What to do:")
    press_filter(page, "All")
    expect(items).to_have_count(everything)


def test_a_click_on_a_block_lists_its_weights(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/checkpoint?model=toy-en-it")
    cross = block(page, "cross-attention")
    cross.click()
    expect(cross).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".panel .head")).to_have_text("cross-attention of the decoder")
    expect(page.get_by_text(re.compile(r"^decoder\.layers\.0 … \d\.cross_attn$"))).to_be_visible()
    expect(page.get_by_role("cell", name="w_q.weight")).to_be_visible()
    expect(page.get_by_role("cell", name="128 × 128").first).to_be_visible()
    cross.press("Tab")
    page.keyboard.press("Enter")
    expect(cross).to_have_attribute("aria-pressed", "false")


@pytest.mark.slow
def test_a_narrow_screen_holds_the_page(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    visit(page, f"{app_url}/checkpoint?model=toy-en-it")
    expect(block(page, "causal self-attention")).to_be_visible()
    assert not page.evaluate(OVERFLOW)
