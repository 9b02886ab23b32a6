"""Lets the keyboard reach the formulas that scroll."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_renderer = st.components.v2.component(
    "headlight_reachable_formulas",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
)


def reachable_formulas(key: str) -> None:
    """Make a stop of the Tab key of every formula that is wider than its place; draws nothing."""
    _renderer(key=key)
