"""Formulas that are wider than the page, within reach of the keyboard."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_renderer = st.components.v2.component(
    "headlight_formula_stops",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
)


def formula_stops(key: str) -> None:
    """Make each formula that scrolls a stop of the Tab key, on the whole page; draws nothing itself."""
    _renderer(key=key)
