"""What the wrappers of all components share: how a view is drawn, and how the browser reports back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import streamlit as st

from viz.components.shared.scripts import component

Selection = TypeVar("Selection")
JSON: TypeAlias = Any
"""A value the browser sent: anything that JSON can hold."""


def index(value: JSON, length: int) -> int:
    """Take the value as a position below length.

    Raises:
        ValueError: for anything else; a browser may send what the view itself never would.
    """
    if type(value) is not int or not 0 <= value < length:
        raise ValueError(f"not a position below {length}: {value!r}")
    return value


def reporter(key: str, trigger: str, call: Callable[[JSON], None]) -> Callable[[], None]:
    """Return the callback of a component's trigger: it calls `call` with the value that the browser sent.

    The last value may arrive after the page has moved on without the component; it is dropped then.
    """

    def report() -> None:
        value = st.session_state.get(key, {}).get(trigger)
        if value is not None:
            call(value)

    return report


class ClientView:
    """A view that the browser draws, by the script of its name.

    What a user selects reaches Python as a trigger, present for one run only. The view keeps its own zoom,
    scroll and hover, and redraws itself in place whenever its data changes.
    """

    def __init__(self, name: str) -> None:
        """Name the view once, at import."""
        self._render = component(name)

    def show(self, frame: bytes, *, key: str) -> None:
        """Draw a view in which nothing can be selected; see ``mount``."""
        self._render(key=key, data=frame)

    def mount(
        self,
        frame: bytes,
        *,
        key: str,
        parse: Callable[[JSON], Selection],
        on_select: Callable[[Selection], None] | None = None,
    ) -> None:
        """Draw the view.

        Args:
            frame: its data, from ``pack_frame``.
            key: its identity on the page. With the same key it is redrawn in place.
            parse: turns the JSON value that the browser sent into a selection. A LookupError, TypeError or
                ValueError means that nothing was selected.
            on_select: called with the selection, before the run that the selection starts.
        """

        def select(value: JSON) -> None:
            if on_select is None:
                return
            try:
                selection = parse(value)
            except (LookupError, TypeError, ValueError):
                return
            on_select(selection)

        self._render(key=key, data=frame, on_select_change=reporter(key, "select", select))
