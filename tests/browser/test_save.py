"""A user saves a figure and its numbers, in every format."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.headlight import settle, visit
from viz.figures import export
from viz.figures.attention import attention_heatmap
from viz.theme import palette

BEGINNINGS = {
    "PNG image": b"\x89PNG",
    "SVG image": b"<svg",
    "HTML page": b"<!doctype html>",
    "CSV numbers": b"\xef\xbb\xbf",
}


def save(page: Page, menu: int, label: str, folder: Path) -> Path:
    """Open a figure's menu if it is closed, click a format, and return the downloaded file."""
    choice = page.get_by_role("button", name=label)
    if not choice.count():
        page.get_by_role("button", name="Save").nth(menu).click()
    with page.expect_download() as download:
        choice.click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.mark.slow
def test_every_format_comes_with_the_figure_or_its_numbers(page: Page, app_url: str, tmp_path: Path) -> None:
    visit(page, f"{app_url}/positions?section=Map&pe_length=5&pe_width=8")
    for label, begin in BEGINNINGS.items():
        path = save(page, 0, label, tmp_path)
        assert path.name == f"headlight-positions-map.{label[:4].strip().lower()}"
        assert path.read_bytes().startswith(begin)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][1:] == [
        "position (token index)",
        "dimension of the encoding (0 to d_model − 1)",
        "value (no unit)",
    ]
    assert len(rows) == 1 + 5 * 8
    assert [float(number) for number in rows[2][1:]] == [0, 1, 1]


@pytest.mark.slow
def test_a_saved_page_opens_without_the_app(page: Page, app_url: str, tmp_path: Path) -> None:
    visit(page, f"{app_url}/layer-norm?text=Yesterday I saw a black cat.")
    path = save(page, 0, "HTML page", tmp_path)
    page.goto("about:blank")
    page.set_content(path.read_text(encoding="utf-8"))
    expect(page.get_by_text("8 <eos>", exact=True)).to_be_visible()


@pytest.mark.slow
def test_a_link_restores_the_masks(page: Page, app_url: str) -> None:
    visit(page, f"{app_url}/masks")
    page.get_by_text("Cross-attention", exact=True).click()
    settle(page)
    page.get_by_test_id("stButtonGroup").get_by_text("2", exact=True).click()
    settle(page)
    address = page.url
    page.goto("about:blank")
    visit(page, address)
    assert page.get_by_role("radio", name="Cross-attention").is_checked()
    assert page.get_by_role("radio", name="2", exact=True).is_checked()
    page.get_by_test_id("stPopover").get_by_role("button", name="code").click()
    expect(page.get_by_text("recorded as decoder.layers.0.cross_attn.mask")).to_be_visible()


@pytest.mark.usefixtures("chromium")
def test_png_and_svg_show_the_figure() -> None:
    weights = np.array([[0.25, 0.75], [0.5, 0.5]])
    figure = attention_heatmap(weights, ["=cmd()", "il"], ["<b>", "the"], theme=palette("light"))
    image = Image.open(io.BytesIO(export.to_png(figure)))
    assert image.size == (2 * export.IMAGE_WIDTH, 2 * figure.layout.height)
    assert len(image.convert("RGB").getcolors(maxcolors=2**24) or []) > 20
    texts = "".join(ElementTree.fromstring(export.to_svg(figure)).itertext())
    assert "=cmd()" in texts
    assert "<b>" in texts
