"""The clock of a fragment that shows something that changes by itself."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_renderer = st.components.v2.component(
    "headlight_clock",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
)


def clock(seconds: float | None, *, key: str) -> None:
    """Run the fragment around it again every so many seconds; None stops it. Draws nothing.

    Each run of the fragment says anew whether it goes on, so none has to ask for a run of the whole page.
    """
    _renderer(key=key, data={"seconds": seconds}, on_tick_change=lambda: None)
