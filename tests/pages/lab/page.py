"""The page Lab in a test: opening it on a mistake or a patient, and what it says."""

from __future__ import annotations

from collections.abc import Iterator

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Node

from tests.pages.app import open_app
from tests.pages.offered import TEXT

GUESSING = {"lab": "Guess the bug"}
"""The address of the patients."""


def opened(kind: str, **address: str) -> AppTest:
    app = open_app("lab", model=kind, **{"text": TEXT} | address)
    assert not app.exception
    return app


def metrics(app: AppTest) -> list[str]:
    """The numbers that are shown large."""
    return [metric.value for metric in app.metric]


def everything(app: AppTest) -> str:
    """All that the server sends, in one text: labels, keys, codes, captions, figures, views' data."""
    return "\n".join(_sent(app._tree))


def _sent(node: Node) -> Iterator[str]:
    yield str(getattr(node, "proto", ""))
    for child in getattr(node, "children", {}).values():
        yield from _sent(child)


def in_address(app: AppTest, name: str) -> str:
    """What the address says of something. AppTest tells a value that a test gave as it was given."""
    value = app.query_params[name]
    return value[0] if isinstance(value, list) else str(value)
