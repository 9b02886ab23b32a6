"""Scenes as one HTML file: opened from disk and stepped through, each shows its own numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import headlight
from tests.browser.conftest import OpenPage, guarded_page
from tests.browser.headlight import visit, wait_until
from tests.browser.test_history import follow
from tests.browser.test_hostile_viewer import HOSTILE
from tests.browser.test_page_file import numbers, written
from tests.browser.test_scenes import MARKUP, caption, expect_scene, keep, two_scenes
from viz.figures.labels import visible_in_full
from viz.viewer.choice import Choice
from viz.viewer.packed import pack_run
from viz.viewer.page import Heading, PageScene, ShownRun, page_overhead, scenes_page
from viz.viewer.viewer_run import view_run, view_weights

SENTENCES = ("I like the cats.", "My dog sleeps.")
CHOICES = (Choice("cross", 0, 2), Choice("encoder", 1, 3, cell=(2, 1)), Choice("cross", 1, 1))
SEEN = "main > section:visible"
STILL = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>'
BATCH = "a cat\nthe dog sleeps"


@pytest.fixture(scope="module")
def runs() -> list[headlight.Run]:
    model = headlight.open("toy-en-it")
    return [headlight.run(model, sentence) for sentence in SENTENCES]


@pytest.fixture(scope="module")
def path(runs: list[headlight.Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two scenes of one run, one that needs the app, and one of a second run."""
    headings = [Heading(run.text, run.translation, run.model.name) for run in runs]
    chosen = [CHOICES[:2], CHOICES[2:]]
    packed = [
        pack_run(view_run(run.computed, run.model), own, overhead=page_overhead(), runs=2)
        for run, own in zip(runs, chosen, strict=True)
    ]
    scenes = [
        PageScene(f"Explore: {SENTENCES[0]}", "Explore", headings[0], "First", ShownRun(packed[0], 0)),
        PageScene(f"Explore: {SENTENCES[0]}", "Explore", headings[0], "", ShownRun(packed[0], 1)),
        PageScene(
            "Masks: a cat", "Masks", Heading("a cat", "", "toy-en-it"), "Third",
            notes=("It needs the app.",), chosen=(("batch", BATCH),), address="masks?batch=a+cat",
        ),
        PageScene(f"Explore: {SENTENCES[1]}", "Explore", headings[1], "Fourth", ShownRun(packed[1], 0)),
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("saved") / "scenes.html"
    path.write_bytes(scenes_page(scenes))
    return path


def expect_numbers(page: Page, run: headlight.Run, shown: Choice) -> None:
    """Check that the visible scene has this choice and every number of its head."""
    section = page.locator(SEEN)
    told = section.locator(".hl-attention").evaluate("root => root.state().choice")
    assert {name: told[name] for name in ("attention", "layer", "head")} == {
        "attention": shown.attention, "layer": shown.layer, "head": shown.head,
    }  # fmt: skip
    assert told["cell"] == (list(shown.cell) if shown.cell else None)
    matrix = section.locator(".hl-head .hl-box").first
    found = run.attention(shown.attention, shown.layer, shown.head).to_numpy()
    tip = section.locator(".hl-head .hl-tip .value").first
    cells = numbers(page, matrix, found.shape, tip)
    assert cells == [[written(value) for value in row] for row in found.tolist()]
    matrix.blur()


def test_scenes_are_stepped_through_by_keyboard_and_ask_for_nothing(
    chromium: Browser, path: Path, runs: list[headlight.Run]
) -> None:
    with guarded_page(chromium) as (page, guard):
        page.goto(path.as_uri())
        expect_scene(page, "1 of 4", "First")
        expect(page.locator(f"{SEEN} h1")).to_have_text(SENTENCES[0])
        expect_numbers(page, runs[0], CHOICES[0])

        page.keyboard.press("PageDown")
        expect_scene(page, "2 of 4", f"Explore: {SENTENCES[0]}")
        expect_numbers(page, runs[0], CHOICES[1])

        page.keyboard.press("ArrowRight")
        expect_scene(page, "3 of 4", "Third")
        expect(page.locator("dd:visible")).to_have_text(BATCH)
        expect(page.locator(SEEN)).to_contain_text("It needs the app.")

        page.keyboard.press("ArrowRight")
        expect_scene(page, "4 of 4", "Fourth")
        expect_numbers(page, runs[1], CHOICES[2])
        page.keyboard.press("PageDown")
        expect_scene(page, "4 of 4", "Fourth")

        page.keyboard.press("Home")
        expect_scene(page, "1 of 4", "First")
        page.keyboard.press("ArrowLeft")
        expect_scene(page, "1 of 4", "First")
        page.keyboard.press("End")
        expect_scene(page, "4 of 4", "Fourth")
        page.keyboard.press("PageUp")
        expect_scene(page, "3 of 4", "Third")
        assert page.locator(SEEN).count() == 1
        guard.check()
        assert guard.requests == [path.as_uri()]


@pytest.mark.slow
def test_buttons_step_and_a_scene_keeps_what_is_chosen_in_it(page: Page, path: Path) -> None:
    page.goto(path.as_uri())
    head = page.locator(SEEN).get_by_role("combobox", name="Head")
    head.select_option("0")
    expect(page.get_by_role("button", name="Previous scene")).to_be_disabled()
    page.get_by_role("button", name="Next scene").click()
    expect_scene(page, "2 of 4", f"Explore: {SENTENCES[0]}")
    expect(head).to_have_value("3")
    page.get_by_role("button", name="Previous scene").click()
    expect(head).to_have_value("0")


@pytest.mark.slow
def test_arrow_keys_in_a_matrix_are_the_matrix_s(page: Page, path: Path) -> None:
    page.goto(path.as_uri())
    page.locator(".hl-head .hl-box").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    expect_scene(page, "1 of 4", "First")
    page.keyboard.press("PageDown")
    expect_scene(page, "2 of 4", f"Explore: {SENTENCES[0]}")


@pytest.mark.slow
def test_f_is_the_full_screen_and_back(page: Page, path: Path) -> None:
    page.goto(path.as_uri())
    page.keyboard.press("f")
    page.locator("html:fullscreen").wait_for()
    page.keyboard.press("f")
    page.locator("html:not(:fullscreen)").wait_for()


@pytest.mark.slow
def test_all_scenes_are_printed(open_page: OpenPage, path: Path) -> None:
    page = open_page(color_scheme="dark")
    page.goto(path.as_uri())
    page.keyboard.press("End")
    expect(page.locator(f"{SEEN} .hl-head .hl-box").first).to_be_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(SEEN)).to_have_count(4)
    expect(page.locator("main .caption:visible")).to_have_text(["First", "Third", "Fourth"])
    expect(page.locator(".hl-head .hl-box:visible")).to_have_count(3)
    expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect_scene(page, "4 of 4", "Fourth")
    expect(page.locator(SEEN)).to_have_count(1)
    expect(page.locator("body")).to_have_css("background-color", "rgb(14, 17, 23)")


@pytest.mark.slow
def test_nothing_is_cut_off_at_any_width(page: Page, path: Path) -> None:
    for width in (400, 1400, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(path.as_uri())
        for _ in range(4):
            expect(page.locator(SEEN)).to_have_count(1)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.keyboard.press("PageDown")


@pytest.mark.slow
def test_without_scripts_all_captions_are_there(chromium: Browser, path: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    expect(page.locator(SEEN)).to_have_count(4)
    expect(page.locator("noscript p")).to_be_visible()
    context.close()


def test_what_was_typed_is_text_in_every_place(chromium: Browser, tmp_path: Path) -> None:
    hostile = " ".join((*HOSTILE, "\u2028", "'", "${title}", "</section>"))
    rows = np.full((2, 1, 3, 3), 1 / 3, np.float32)
    held = view_weights({"encoder": list(rows)}, {"encoder": (hostile, "</script>", "b")})
    shown = ShownRun(pack_run(held, [Choice("encoder", 1)], overhead=page_overhead()))
    heading = Heading(hostile, f"{hostile}!", hostile)
    scenes = [
        PageScene(hostile, "Explore", heading, hostile, shown),
        PageScene(hostile, "Masks", heading, notes=(hostile,), chosen=((hostile, hostile),), address=hostile),
        PageScene(hostile, "Decode", heading, still=f"{STILL}{hostile}"),
    ]
    path = tmp_path / "hostile.html"
    path.write_bytes(scenes_page(scenes))
    told = visible_in_full(hostile)
    with guarded_page(chromium) as (page, guard):
        page.goto(path.as_uri())
        expect(page.locator(f"{SEEN} .hl-head .hl-box").first).to_be_visible()
        expect_scene(page, "1 of 3", told)
        expect(page.locator(f"{SEEN} h1")).to_have_text(told)
        page.keyboard.press("PageDown")
        expect_scene(page, "2 of 3", told)
        for place in ("h1", "dt", "dd", ".absent > p >> nth=0", "code"):
            expect(page.locator(f"{SEEN} {place}")).to_have_text(told)
        expect(page.locator(f"{SEEN} .about")).to_contain_text(told)
        page.keyboard.press("PageDown")
        expect(page.get_by_role("img", name=told)).to_have_js_property("complete", True)
        assert page.locator("img:not(.still), b, script:not([type])").count() == 0
        assert page.locator("main > section").count() == 3
        guard.check()
        assert guard.requests == [path.as_uri()]


@pytest.mark.slow
def test_the_app_saves_its_scenes_as_a_page(open_page: OpenPage, app_url: str, tmp_path: Path) -> None:
    page = open_page()  # a tab that has left for a file could not forget its scenes
    first, third = two_scenes(page, app_url)
    follow(page, "Scenes")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a page").click()
    assert download.value.suggested_filename == "headlight-scenes.html"
    download.value.save_as(tmp_path / "scenes.html")
    page.goto("about:blank")
    page.goto((tmp_path / "scenes.html").as_uri())
    expect_scene(page, "1 of 3", MARKUP)
    shown = page.locator(f"{SEEN} .hl-attention")
    assert shown.evaluate("root => root.state().choice") == first
    page.keyboard.press("PageDown")
    expect(caption(page)).to_have_text("The second sentence is longer.")
    still = page.locator(f"{SEEN} img.still")
    wait_until(page, lambda: still.evaluate("image => image.naturalWidth") > 0, "the still is not an image")
    page.keyboard.press("PageDown")
    expect_scene(page, "3 of 3", f"Explore: {SENTENCES[1]}")
    assert shown.evaluate("root => root.state().choice") == third


@pytest.mark.slow
def test_a_lesson_with_its_formulas_is_saved_as_a_picture(
    open_page: OpenPage, app_url: str, tmp_path: Path
) -> None:
    page = open_page()  # a tab that has left for a file could not forget its scenes
    visit(page, f"{app_url}/learn?lesson=one-head")
    keep(page, "One head")
    follow(page, "Scenes")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a page").click()
    download.value.save_as(tmp_path / "scenes.html")
    page.goto((tmp_path / "scenes.html").as_uri())
    still = page.locator(f"{SEEN} img.still")
    wait_until(page, lambda: still.evaluate("image => image.naturalWidth") > 0, "the still is not an image")
