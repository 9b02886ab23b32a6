"""Large type, for a projector: the whole page magnified, by as much as suits the width of the window."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz.components.shared.client_view import JSON
from viz.components.shared.scripts import component

_renderer = component("large_type")


def large_type(magnification: float, *, key: str, on_change: Callable[[JSON], None]) -> None:
    """Have the browser say by what the style sheet magnifies the page, if it is not this. Draws nothing.

    Python has to know it for figures alone: everything else goes by the style sheet.
    """

    def report() -> None:
        told = st.session_state.get(key, {}).get("changed")
        if told is not None:
            on_change(told)

    _renderer(key=key, data={"magnification": magnification}, on_changed_change=report)
