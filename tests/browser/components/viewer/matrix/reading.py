"""The grid and the matrix of a small run, and the numbers they should show."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

from tests.browser.components.views import choose, move_to, open_view
from tests.support.runs import held_of
from transformer.analysis.attention_maps import Attention
from viz.viewer.viewer_run import ViewerRun

LAYER, HEAD = 1, 2
MEASURES = {
    "weights": "attention weight",
    "scores": "score",
    "masked": "score",
    "moved": "length of the moved vector",
}
READ_TABLE = """
table => [...table.rows].map(row => [...row.cells].map(cell =>
  (cell.querySelector(".word") ?? cell).textContent))
"""
CELL_OF = """
(root, [query, key]) => {
  const { cell, corner } = root.state().matrices[0];
  const box = root.querySelector(".hl-head .hl-box");
  const [x, y] = [corner[0] + (key + 0.5) * cell[0], corner[1] + (query + 0.5) * cell[1]];
  return [x - box.scrollLeft, y - box.scrollTop];
}
"""
Floats = NDArray[np.float32]


RUNS = {
    "short": ("subwords", "Yesterday the cats saw you.", "Ieri l'amica vede un cane, il gatto."),
    "long": (
        "long",
        "Yesterday the cats saw you and the dogs didn't see. " * 4,
        "Ieri l'amica vede un cane. " * 3,
    ),
}
"""Kind, text and target of two runs; no two dimensions have the same size."""


def held_run(name: str = "short") -> ViewerRun:
    """The run in the viewer's form, with a run of other weights to compare with."""
    return held_of(*RUNS[name])


def open_viewer(page: Page, url: str, name: str = "short") -> Locator:
    """Open a new viewer at one head, with its matrix's table unfolded."""
    kind, text, target = RUNS[name]
    view = open_view(page, url, "run", f"kind={kind}&text={text}&target={target}")
    matrix(view).locator("summary").click()
    choose(view, "Layer", str(LAYER))
    choose(view, "Head", str(HEAD))
    return view


def matrix(view: Locator) -> Locator:
    return view.locator(".hl-head")


def read_table(view: Locator, caption: str) -> list[list[str]]:
    """The cells of the matrix's table, once its caption matches."""
    table = matrix(view).locator("table")
    expect(table.locator("caption")).to_have_text(re.compile(caption))
    rows: list[list[str]] = table.evaluate(READ_TABLE)
    return rows


def numbers_of(rows: list[list[str]]) -> list[list[str]]:
    """The cells of a table, without headings and sums."""
    body = [row[1:] for row in rows[1:]]
    return body[:-1] if rows[-1][0] in ("received", "sum") else body


def written(values: NDArray[Any]) -> list[list[str]]:
    """Numbers as the viewer writes them, with a real minus sign and no −0."""
    texts = [[f"{float(value):.4f}" for value in row] for row in values]
    return [[re.sub(r"^-(?=[0.]*$)", "", text).replace("-", "−") for text in row] for row in texts]


def hover(page: Page, view: Locator, query: int, key: int) -> None:
    """Point at a cell, or at a sum: one past the last row or column."""
    box = matrix(view).locator(".hl-box").first
    box.scroll_into_view_if_needed()
    at = view.evaluate(CELL_OF, [query, key])
    move_to(page, box, *at)


def shown(held: ViewerRun, attention: Attention, measure: str, head: int = HEAD) -> Floats:
    """A head's values of one measure, computed from the run."""
    attn = held.attentions[attention]
    weights = attn.weights(LAYER)[head]
    if measure == "moved":
        assert attn.lengths is not None
        lengths = attn.lengths(LAYER)
        assert lengths is not None
        return weights * lengths[head]
    if measure == "weights":
        return weights
    assert attn.scores is not None
    return attn.scores(LAYER)[head]


def with_reasons(texts: list[list[str]], allowed: NDArray[np.bool_], measure: str) -> list[list[str]]:
    """Put the reason into masked cells, next to the score if scores are shown before the mask."""
    reason = "masked: future: comes after the query"
    told = f"%s ({reason})" if measure == "scores" else reason
    return [
        [text if is_open else told.replace("%s", text) for text, is_open in zip(row, cells, strict=True)]
        for row, cells in zip(texts, allowed, strict=True)
    ]
