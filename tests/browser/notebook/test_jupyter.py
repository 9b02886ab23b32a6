"""The widget in JupyterLab draws the run's numbers, and browser and kernel share one choice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from playwright.sync_api import Locator, expect

import headlight
from tests.browser.conftest import OpenPage
from tests.browser.notebook.jupyter import jupyter_lab, open_notebook, run_all_cells, run_cell, write_notebook
from tests.support.missing import missing
from tests.support.models import tiny_subword_model

TEXT, TARGET = "I don't see the dogs.", "Non vedo il cane."
SHOW = f"""\
import headlight, ipywidgets
from IPython.display import display
from tests.support.models import tiny_subword_model

run = headlight.run(tiny_subword_model(), {TEXT!r}, {TARGET!r})
widget = headlight.show(run)
heard = ipywidgets.Label()
widget.observe(lambda change: setattr(heard, "value", repr(widget)), "choice")
display(widget, heard)
"""
READ = "print(widget.choice)"
CHOOSE = """\
widget.choose(attention="decoder", layer=2, head=1)
widget
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if find_spec("jupyterlab") is None:
        missing("JupyterLab is not installed: make test does that (requirements-dev.txt)")
    home = tmp_path_factory.mktemp("home")
    write_notebook(home / "run.ipynb", SHOW, READ, CHOOSE)
    with jupyter_lab(home) as url:
        yield url


@pytest.mark.slow
def test_a_choice_goes_from_the_widget_to_python_and_back(lab: str, open_page: OpenPage) -> None:
    page = open_page()  # its own page: left open, it would send requests to a server that has ended
    run = headlight.run(tiny_subword_model(), TEXT, TARGET)
    open_notebook(page, lab, "run.ipynb")
    run_all_cells(page)
    views = page.locator(".hl-attention")
    expect(views).to_have_count(2)
    for view in views.all():
        expect(view.get_by_label("Head", exact=True)).to_have_value("1")
        expect(view.get_by_label("Layer", exact=True)).to_have_value("2")

    grid, matrix = views.first.locator(".hl-grid"), views.first.locator(".hl-head")
    told = point(grid, 0.2, 0.2)
    layer, head = places(told)
    assert (layer, head) == (0, 0)
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_text("Decoder self-attention, layer 0, head 0>")).to_be_visible()

    told = point(matrix, 0.3, 0.7)
    cell = places(told)
    weight = run.attention("decoder", layer, head).iloc[cell]
    assert f"{weight:.4f}" in told.splitlines()
    page.mouse.down()
    page.mouse.up()
    # Both views share one choice.
    run_cell(page, READ)
    expect(page.get_by_text(f"'layer': 0, 'head': 0, 'view': 'head', 'cell': {cell}")).to_be_visible()


def point(part: Locator, right: float, down: float) -> str:
    """Move the pointer to a place in a part's first picture, as fractions of its size; return the tooltip."""
    canvas = part.locator("canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    canvas.hover(position={"x": right * box["width"], "y": down * box["height"]})
    tip = part.locator(".hl-tip").filter(visible=True)
    expect(tip).to_have_count(1)
    return tip.inner_text()


def places(told: str) -> tuple[int, int]:
    """The two numbers in "layer 1, head 2" or "query 3, key 4"."""
    found = re.search(r"^(?:layer|query) (\d+), (?:head|key) (\d+)", told, re.MULTILINE | re.IGNORECASE)
    assert found, told
    return int(found[1]), int(found[2])
