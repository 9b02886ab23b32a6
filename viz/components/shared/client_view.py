"""Shared by the wrappers of all components: how a view is drawn, and how the browser reports back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import streamlit as st

from viz.components.shared.scripts import component

Selection = TypeVar("Selection")
JSON: TypeAlias = Any
"""A value sent by the browser: anything that JSON can represent."""


def index(value: JSON, length: int) -> int:
    """Check that a value is an index below `length`.

    Raises:
        ValueError: it is not; a browser may send what the view itself never would.
    """
    if type(value) is not int or not 0 <= value < length:
        raise ValueError(f"not a position below {length}: {value!r}")
    return value


def reporter(key: str, trigger: str, call: Callable[[JSON], None]) -> Callable[[], None]:
    """Return the callback of a component's trigger: it passes the value sent by the browser to `call`.

    A value that arrives after the component has left the page is dropped.
    """

    def report() -> None:
        value = st.session_state.get(key, {}).get(trigger)
        if value is not None:
            call(value)

    return report


class ClientView:
    """A view that the browser draws, by the script of its name.

    A user's selection reaches Python as a trigger, present for one run only. The view manages its own zoom,
    scroll and hover, and redraws itself in place whenever its data changes.
    """

    def __init__(self, name: str) -> None:
        """Name the view once, at import."""
        self._render = component(name)

    def show(self, frame: bytes, *, key: str) -> None:
        """Draw a view without selection; see ``mount``."""
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
            parse: turns the JSON value sent by the browser into a selection. A LookupError, TypeError or
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
