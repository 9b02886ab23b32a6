"""The view that the tests' app shows, and its options."""

from __future__ import annotations

from urllib.parse import parse_qsl

import streamlit as st

from viz.pages.shared.attention_view import key_of
from viz.viewer.choice import NAMES

REMEMBERED = {"step", "place", "picked", "turned", *(key_of("", name) for name in NAMES)}
"""What the app stores in the session, apart from widget values."""
CHOSEN = {"look": "view"} | {name: name for name in NAMES if name not in ("view", "heads")}
"""Options for what is chosen in the viewer: option -> its name in `Choice`."""


class Asked:
    """The text typed into the app, such as `view=tree&beam=4`; an address would reload the app.

    Attributes:
        text: all of it; part of each view's key, so that no view is mistaken for an earlier one.
        view: name of the view; empty before anything is typed.
    """

    def __init__(self) -> None:
        self.text = st.text_input("View and options", key="asked", on_change=begin)
        self._options = dict(parse_qsl(self.text))
        self.view = self._options.pop("view", "")

    def number(self, name: str, default: int) -> int:
        return int(self._options.get(name, default))

    def word(self, name: str, default: str) -> str:
        return self._options.get(name, default)

    def say_shown(self) -> None:
        """Mark that the view has been sent to the browser."""
        st.text(f"shown: {self.text}")


def pick(selection: object) -> None:
    """Store a selection for the run that it starts."""
    st.session_state["picked"] = selection


def picked() -> object:
    """The selection that started this run; None if something else did."""
    return st.session_state.pop("picked", None)


def begin() -> None:
    """Reset what was chosen in an earlier view, in the session and the address, to what was typed."""
    st.query_params.clear()
    for name in REMEMBERED & set(st.session_state):
        del st.session_state[name]
    for option, value in parse_qsl(st.session_state["asked"]):
        if option in CHOSEN:
            st.session_state[CHOSEN[option]] = value
