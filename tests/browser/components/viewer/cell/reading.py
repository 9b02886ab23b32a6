"""Read what the page shows about a cell of a small model's run."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

from tests.browser.components.views import open_view
from tests.support.runs import Ran, ran
from transformer.analysis.attention_maps import Attention

A_NUMBER = re.compile(r"([\w.]+) \[([\d:, ]+)\] of \(([\d, ]+)\)")
"""How the page names a number of a tensor: path, index and shape."""
READ = """
view => [...view.querySelectorAll(".hl-cell button.hl-number")]
  .filter((node) => node.checkVisibility())
  .map((node) => [node.dataset.name, node.value, node.title])
"""


COPY_STRIPS = """
async (view) => {
  const copied = [];
  for (const button of view.querySelectorAll(".hl-cell button.hl-copy")) {
    await navigator.clipboard.writeText("");
    button.click();
    let text = "";
    while (!text) text = await navigator.clipboard.readText();
    copied.push([button.dataset.name, text, button.title]);
  }
  return copied;
}
"""


@dataclass(frozen=True)
class Case:
    """A cell of a small model's run."""

    kind: str
    attention: Attention
    layer: int
    head: int
    cell: tuple[int, int]
    sharpness: int = 1

    @property
    def options(self) -> str:
        query, key = self.cell
        where = f"attention={self.attention}&layer={self.layer}&head={self.head}&cell={query},{key}"
        return f"{where}&sharpness={self.sharpness}"

    def ran(self) -> Ran:
        return ran(self.kind, sharpness=self.sharpness)


CASES = [
    Case("words", "cross", 2, 1, (4, 6)),
    Case("words", "decoder", 1, 2, (15, 3), sharpness=3),
    Case("subwords", "encoder", 1, 2, (1, 9)),
    Case("prompted", "decoder", 2, 1, (5, 2)),
    Case("rotary", "decoder", 1, 4, (6, 3)),
    Case("masked", "encoder", 2, 0, (3, 7)),
    Case("reader", "encoder", 1, 1, (6, 2)),
    Case("relative", "encoder", 1, 2, (2, 5)),
    Case("languages", "cross", 0, 2, (7, 1)),
    Case("stacks", "decoder", 2, 2, (0, 0)),
]

DIFFERENT = ("rotary", "relative", "masked")
"""Kinds with a special step in their arithmetic."""


def opened(page: Page, url: str, kind: str, options: str) -> Locator:
    """Open the viewer and wait for all numbers of its cell."""
    view = open_view(page, url, "run", f"kind={kind}&{options}")
    expect(view.locator(".hl-cell .hl-pending:visible")).to_have_count(0)
    return view


def numbers(view: Locator) -> dict[str, tuple[str, str]]:
    """The panel's numbers by name: the text that a click copies, and its source."""
    return {name: (value, source) for name, value, source in view.evaluate(READ)}


def values(view: Locator) -> dict[str, np.float32]:
    """The panel's numbers by name, without the mask's True and False."""
    return {name: np.float32(text) for name, (text, _) in numbers(view).items() if name != "mask"}


def vectors(view: Locator) -> dict[str, tuple[NDArray[np.float32], str]]:
    """Every strip by name: the vector that its button copies, and its source."""
    return {
        name.removeprefix("all of "): (np.array(json.loads(copied), np.float32), source)
        for name, copied, source in view.evaluate(COPY_STRIPS)
    }


def in_trace(case_run: Ran, source: str) -> NDArray[np.float32] | None:
    """The trace's values at a source; None if the source is not a single place in a tensor."""
    match = A_NUMBER.fullmatch(source)
    if match is None:
        return None
    path, place, shape = match.groups()
    tensor = case_run.run.trace[path]
    assert tuple(tensor.shape) == tuple(map(int, shape.split(", ")))
    index = tuple(slice(None) if at == ":" else int(at) for at in place.split(", "))
    found: NDArray[np.float32] = tensor[index].numpy()
    return found


def rounded(value: Any) -> np.float32:
    return np.float32(value)
