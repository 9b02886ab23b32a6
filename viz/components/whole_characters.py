"""Keeps half a character, as a broken paste leaves it, from being sent to the server."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_renderer = st.components.v2.component(
    "headlight_whole_characters",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
)


def whole_characters(key: str) -> None:
    """Replace half characters in every box of the app by U+FFFD while they are typed; draws nothing."""
    _renderer(key=key)
