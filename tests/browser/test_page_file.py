"""A saved page opened from disk: it shows its run's numbers and says what it lacks.

Its content policy forbids what `wait_for_function` needs, so only `expect` waits here.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Locator, Page, expect

import headlight
from tests.browser.components.line import Line
from tests.browser.components.views import choose, picker
from tests.browser.conftest import OpenPage, guarded_page
from tests.browser.headlight import settle, visit, wait_until
from viz.viewer import contents

SENTENCE = "Yesterday I saw a black cat."
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
TAB_STOPS = 40
"""Number of Tab presses that reach every control of a page."""
NAME_OF_FOCUSED = "document.activeElement.ariaLabel ?? document.activeElement.innerText"


@pytest.fixture(scope="module")
def run() -> headlight.Run:
    return headlight.run(headlight.open("en-it"), SENTENCE)


@pytest.fixture(scope="module")
def path(run: headlight.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with all weights in full precision."""
    path = tmp_path_factory.mktemp("saved") / "cat.html"
    run.to_html(path, attention="cross", layer=2, head=1)
    return path


@pytest.fixture
def rounded(run: headlight.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The smallest page: one head in full precision, all other weights rounded."""
    monkeypatch.setattr(contents, "LEVELS", contents.LEVELS[:1])
    run.to_html(tmp_path / "rounded.html", attention="cross", layer=2, head=1)
    return tmp_path / "rounded.html"


def opened(page: Page, path: Path) -> Locator:
    """Open a page from disk and return its matrix."""
    page.goto(path.as_uri())
    matrix = page.locator(".hl-head .hl-box").first
    expect(matrix).to_be_visible()
    return matrix


def written(value: float) -> str:
    """A number as a tooltip shows it."""
    if 0 < abs(value) < 0.5e-4:
        digits, power = f"{value:.1e}".split("e")
        return f"{digits}·10{str(int(power)).translate(SUPERSCRIPT)}".replace("-", "−")
    return f"{value:.4f}".replace("-", "−")


def numbers(
    page: Page, matrix: Locator, shape: tuple[int, ...], tip: Locator | None = None
) -> list[list[str]]:
    """The tooltips of all cells, row by row, reached with the arrow keys."""
    queries, keys = shape
    matrix.focus()
    for key, presses in (("ArrowUp", queries), ("ArrowLeft", keys)):
        for _ in range(presses):
            page.keyboard.press(key)
    value = tip or page.locator(".hl-head .hl-tip .value").first
    rows = []
    for query in range(queries):
        row = []
        for column in range(keys):
            if column:
                page.keyboard.press("ArrowRight" if query % 2 == 0 else "ArrowLeft")
            row.append(value.inner_text())
        rows.append(row if query % 2 == 0 else row[::-1])
        page.keyboard.press("ArrowDown")
    return rows


def weights(run: headlight.Run, layer: int, head: int) -> NDArray[np.float32]:
    found: NDArray[np.float32] = run.attention("cross", layer, head).to_numpy()
    return found


def test_every_number_of_the_chosen_head_is_that_of_the_run(
    page: Page, path: Path, run: headlight.Run
) -> None:
    found = weights(run, 2, 1)
    cells = numbers(page, opened(page, path), found.shape)
    assert cells == [[written(value) for value in row] for row in found.tolist()]


@pytest.mark.slow
def test_every_other_head_has_its_numbers_too(page: Page, path: Path, run: headlight.Run) -> None:
    matrix = opened(page, path)
    choose(page.locator("body"), "Layer", "0")
    choose(page.locator("body"), "Head", "3")
    found = weights(run, 0, 3)
    assert numbers(page, matrix, found.shape) == [[written(value) for value in row] for row in found.tolist()]
    choose(page.locator("body"), "Numbers in the cells", "scores")
    scores = run.attention("cross", 0, 3, measure="scores").to_numpy().astype(float)
    assert numbers(page, matrix, scores.shape) == [
        [f"{x:.4f}".replace("-", "−") for x in row] for row in scores
    ]


@pytest.mark.slow
def test_rounded_weights_are_written_as_they_are_and_said_to_be_rounded(
    page: Page, rounded: Path, run: headlight.Run
) -> None:
    matrix = opened(page, rounded)
    found = weights(run, 2, 1)
    assert numbers(page, matrix, found.shape) == [[written(value) for value in row] for row in found.tolist()]
    expect(page.locator(".hl-head .hl-tip").first).not_to_contain_text("rounded")
    choose(page.locator("body"), "Layer", "0")
    found = weights(run, 0, 1)
    cells = numbers(page, matrix, found.shape)
    tiny = "< 0.0001"
    assert cells == [[tiny if value < 0.5e-4 else written(value) for value in row] for row in found.tolist()]
    expect(page.locator(".hl-head .hl-tip").first).to_contain_text("rounded to 4 decimals")
    expect(page.locator(".hl-cell")).to_contain_text("Weights are rounded to 4 decimals.")
    copied = page.locator(".hl-cell button.hl-number").evaluate_all("all => all.map(({ value }) => value)")
    decimals = [value.partition(".")[2] for value in copied if value not in ("True", "False")]
    assert 0 < max(map(len, decimals)) <= 4, copied


@pytest.mark.slow
def test_what_is_not_in_the_file_is_said_in_words(page: Page, rounded: Path) -> None:
    matrix = opened(page, rounded)
    absent = page.locator(".hl-head").get_by_text("Not in this file. Choose it in Headlight")
    choose(page.locator("body"), "Numbers in the cells", "scores")
    expect(matrix).to_be_visible()
    expect(absent).to_have_count(0)
    expect(page.get_by_text("These are weights: the numbers of the other heads are not")).to_be_visible()
    choose(page.locator("body"), "Head", "0")
    expect(absent).to_be_visible()
    expect(matrix).to_be_hidden()
    expect(
        page.get_by_text("This head’s scores, vectors, what W_O makes of v: not in this file.")
    ).to_be_visible()
    expect(page.locator(".hl-cell:visible")).not_to_contain_text("…")
    choose(page.locator("body"), "Numbers in the cells", "weights")
    expect(matrix).to_be_visible()
    expect(page.locator(".notes")).to_contain_text("All other weights are rounded to 4 decimals")


def test_the_keyboard_reaches_everything(page: Page, path: Path) -> None:
    opened(page, path)
    picker(page.locator("body"), "Numbers in the cells")
    reached = []
    for _ in range(TAB_STOPS):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(NAME_OF_FOCUSED))
    assert {"Which attention", "Lines", "Layer", "Head", "Numbers in the cells"} <= set(reached)
    assert not any("Why" in name for name in reached), "a page that could answer is not in the file"
    for stage in ("Cross-attention of every layer and head", "Cross-attention, layer 2, head 1"):
        assert any(name.startswith(stage) for name in reached), stage


@pytest.mark.slow
def test_a_head_is_chosen_in_the_grid_by_arrow_keys(page: Page, path: Path) -> None:
    opened(page, path)
    page.get_by_role("application", name=re.compile("of every layer and head")).focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("combobox", name="Head")).to_have_value("2")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("combobox", name="Layer")).to_have_value("1")


@pytest.mark.slow
def test_it_is_dark_where_the_system_is_and_light_on_paper(open_page: OpenPage, path: Path) -> None:
    page = open_page(color_scheme="dark")
    opened(page, path)
    expect(page.locator("body")).to_have_css("background-color", "rgb(14, 17, 23)")
    expect(page.locator(".hl-attention")).to_have_css("color", "rgb(242, 244, 248)")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(page.locator(".hl-attention")).to_have_css("color", "rgb(17, 20, 24)")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator(".hl-attention")).to_have_css("color", "rgb(242, 244, 248)")


@pytest.mark.slow
def test_nothing_is_cut_off_at_any_width(page: Page, path: Path) -> None:
    for width in (400, 1400, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        opened(page, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_a_file_that_was_cut_short_says_so(chromium: Browser, path: Path, tmp_path: Path) -> None:
    broken = re.sub(r'(class="run">.{2000})[^<]*', r"\1", path.read_text(encoding="utf-8"))
    (tmp_path / "broken.html").write_text(broken, encoding="utf-8")
    with guarded_page(chromium) as (page, _):
        page.goto((tmp_path / "broken.html").as_uri())
        expect(page.locator(".viewer")).to_contain_text("This page can't be drawn")


def test_the_app_saves_what_is_chosen_in_it(page: Page, app_url: str, tmp_path: Path) -> None:
    visit(page, f"{app_url}/?text={SENTENCE}&attention=encoder&layer=1&head=2")
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save this view").click()
    assert download.value.suggested_filename == "headlight-yesterday-i-saw-a-black-cat.html"
    download.value.save_as(tmp_path / "saved.html")
    page.goto("about:blank")
    opened(page, tmp_path / "saved.html")
    expect(page.get_by_role("heading", level=1)).to_have_text(SENTENCE)
    expect(page.get_by_role("combobox", name="Head")).to_have_value("2")
    expect(page.get_by_role("combobox", name="Layer")).to_have_value("1")
    expect(picker(page.locator("body"), "Which attention")).to_have_value("encoder")


@pytest.mark.slow
def test_a_file_comes_though_its_page_has_run_again_before_the_click(
    open_page: OpenPage, app_url: str
) -> None:
    page, other = open_page(), open_page()
    line = Line(page)
    visit(page, app_url)
    line.hold_answers()  # on a slow connection the page that a user clicks on is older than the server's
    ended = line.ended
    choose(page.locator("body"), "Layer", "0")
    wait_until(page, lambda: line.ended > ended, "the choice was not told")
    visit(other, f"{app_url}/masks")
    page.get_by_role("button", name="Save this view").click()
    visit(other, f"{app_url}/layer-norm")
    with page.expect_download() as download:
        line.release()
    assert download.value.failure() is None


@pytest.mark.slow
def test_the_pages_icon_comes_with_the_page(open_page: OpenPage, app_url: str) -> None:
    page = open_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    visit(page, app_url)
    expect(page.locator('link[rel="shortcut icon"]')).to_have_attribute("href", re.compile("^data:image/svg"))
    assert not [url for url in asked if urlsplit(url).path.startswith("/media/")]
