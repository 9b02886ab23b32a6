"""The Lab page in a test: opening it on a mistake or a patient, and what it says."""

from __future__ import annotations

from collections.abc import Iterator

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Node

from tests.pages.app import open_app
from tests.pages.offered import TEXT

GUESSING = {"lab": "Guess the bug"}
"""Query parameter that opens the page on the patients."""


def opened(kind: str, **address: str) -> AppTest:
    app = open_app("lab", model=kind, **{"text": TEXT} | address)
    assert not app.exception
    return app


def metrics(app: AppTest) -> list[str]:
    """The numbers shown large."""
    return [metric.value for metric in app.metric]


def everything(app: AppTest) -> str:
    """Everything the server sends, as one text: labels, keys, code, captions, figures, the views' data."""
    return "\n".join(_sent(app._tree))


def _sent(node: Node) -> Iterator[str]:
    yield str(getattr(node, "proto", ""))
    for child in getattr(node, "children", {}).values():
        yield from _sent(child)


def in_address(app: AppTest, name: str) -> str:
    """The value of a query parameter. AppTest returns one that a test set in the form in which it was set."""
    value = app.query_params[name]
    return value[0] if isinstance(value, list) else str(value)
