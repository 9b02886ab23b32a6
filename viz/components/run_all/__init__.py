"""A run of the whole page, for what a user told in the moment in which a fragment was run."""

from __future__ import annotations

import streamlit as st

from viz.components.shared.scripts import component

_renderer = component("run_all")


@st.fragment
def run_all(key: str) -> None:
    """Run the whole page when the browser asks for it (``after_user.js``). Draws nothing itself.

    It asks for a run of this fragment, and this for the whole page: Streamlit drops what waits to be run, a
    click among it, when the browser asks for the whole page itself.
    """
    if _renderer(key=key, on_asked_change=lambda: None).asked:
        st.rerun()
