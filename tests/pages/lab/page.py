"""The page Lab in a test: it is opened on a mistake or a patient, and read."""

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
    """The numbers shown in large type."""
    return [metric.value for metric in app.metric]


def everything(app: AppTest) -> str:
    """Everything that the server sends, in one text: labels, keys, code, captions, figures, views' data."""
    return "\n".join(_sent(app._tree))


def _sent(node: Node) -> Iterator[str]:
    yield str(getattr(node, "proto", ""))
    for child in getattr(node, "children", {}).values():
        yield from _sent(child)


def in_address(app: AppTest, name: str) -> str:
    """A parameter's value in the address. AppTest returns a value set by a test unchanged."""
    value = app.query_params[name]
    return value[0] if isinstance(value, list) else str(value)
