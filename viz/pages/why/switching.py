"""Parts switched off by hand: the new translation next to the old."""

import streamlit as st

from viz.pages.why.asked import Asked


def switching_section(asked: Asked) -> None:
    """Draw the section."""
    st.header("Switch parts off")
