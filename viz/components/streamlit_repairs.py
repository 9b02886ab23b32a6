"""What Streamlit's own parts lack for all to read and reach them: formulas that scroll, pale tags."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_renderer = st.components.v2.component(
    "headlight_streamlit_repairs",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
)


def streamlit_repairs(key: str) -> None:
    """Repair what is Streamlit's on the whole page; draw it on every page. Draws nothing itself."""
    _renderer(key=key)
