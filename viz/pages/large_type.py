"""The switch for large type, for projectors."""

from __future__ import annotations

import streamlit as st

from viz.components.bridge import large_type
from viz.pages.style import COMPACT
from viz.session import LARGE, MAGNIFICATIONS, keep_magnification, window_magnification

USUAL, PROJECTOR, WIDE = MAGNIFICATIONS
STYLE = f"""
<style>
:root {{ --hl-zoom: {USUAL}; }}
@media (min-width: 1500px) {{ :root {{ --hl-zoom: {PROJECTOR}; }} }}
@media (min-width: 2200px) {{ :root {{ --hl-zoom: {WIDE}; }} }}
html {{ font-size: calc(16px * var(--hl-zoom)) !important; }}
[data-testid="stTextArea"] textarea {{ field-sizing: content; height: auto !important; }}
{COMPACT}
.st-key-sentence_box [data-testid="stWidgetLabel"] {{ display: none; }}
</style>
"""
"""Streamlit's sizes are in rem; our own views and the text in figures follow the magnification."""
NOTE = "Makes everything larger, for a projector. It is in the address too."


def large_type_switch() -> None:
    """Draw the switch, and magnify the page while it is on."""
    if st.toggle("Large type", key=LARGE, bind="query-params", help=NOTE):
        st.html(STYLE)
        large_type(window_magnification(), key="large_type", on_change=keep_magnification)
