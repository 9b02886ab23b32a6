"""The pictures of a page in a test: plotly's data as numbers, and the code named next to them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

from tests.pages.app import ROOT

NO_PICTURES = ("navigation", "theme_switch", "whole_characters", "formula_stops", "clock")
COMPUTED = re.compile(r"Computed by `([^:]+):(\d+) ([\w.]+)`")


def figure(app: AppTest, key: str) -> dict[str, Any]:
    """The plotly figure drawn under this key: {"data": [...], "layout": {...}}.

    Raises:
        KeyError: there is none.
    """
    for chart in app.get("plotly_chart"):
        if chart.proto.id.endswith(f"-{key}"):
            return json.loads(chart.proto.spec)
    raise KeyError(key)


def trace(app: AppTest, key: str, name: str) -> dict[str, Any]:
    """The first trace of this name in a figure.

    Raises:
        KeyError: the figure has none.
    """
    for drawn in figure(app, key)["data"]:
        if drawn.get("name") == name:
            return drawn
    raise KeyError(name)


def array(values: dict[str, str] | list[Any]) -> NDArray[Any]:
    """plotly's typed base64, or a plain list, as an array."""
    if not isinstance(values, dict):
        return np.array(values)
    flat = np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"])
    shape = [int(side) for side in values.get("shape", str(flat.size)).split(",")]
    return flat.reshape(shape)


def named_code(app: AppTest) -> list[tuple[str, int, str]]:
    """File, line and name of all code that the page names for its pictures."""
    found = (COMPUTED.match(text) for kind, text in _elements(app.main) if kind == "computed")
    return [(match[1], int(match[2]), match[3]) for match in found if match]


def pictures_without_code(app: AppTest) -> list[str]:
    """The pictures in groups that have no named code right before or after them."""
    unnamed: list[str] = []
    group: list[str] = []
    before = ""
    for kind, text in (*_elements(app.main), ("heading", "")):
        if kind == "picture":
            group.append(text)
            continue
        if group and "computed" not in (kind, before):
            unnamed += group
        group, before = [], kind
    return unnamed


def assert_names_its_code(app: AppTest) -> None:
    """Assert that every picture names the code that computed it, with the right file and line."""
    assert pictures_without_code(app) == []
    for file, line, name in set(named_code(app)):
        written = (ROOT / file).read_text(encoding="utf-8").splitlines()[line - 1]
        last = name.rpartition(".")[2]
        assert written.lstrip().startswith((f"def {last}(", f"class {last}", "@")), f"{file}:{line} {name}"


def _elements(block: Block) -> Iterator[tuple[str, str]]:
    """Headings, pictures and named code in a part of a page, in order: kind and text."""
    for child in block.children.values():
        if isinstance(child, Block):
            yield from _elements(child)
        elif child.type in ("title", "header", "subheader"):
            yield "heading", str(child.value)
        elif child.type == "markdown" and COMPUTED.match(str(child.value)):
            yield "computed", str(child.value)
        elif child.type == "plotly_chart":
            yield "picture", child.proto.id
        elif child.type == "bidi_component":
            name = child.proto.component_name.removeprefix("headlight_")
            if name not in NO_PICTURES:
                yield "picture", name
