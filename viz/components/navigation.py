"""Back and Forward by visits, and page links that are not lost."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_renderer = st.components.v2.component(
    "headlight_navigation",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
)


def navigation(key: str) -> None:
    """Give the browser's history one entry for each visit, and let no click overtake a link; draws nothing.

    To be drawn on every page, before anything that writes to the address.
    """
    _renderer(key=key)
