"""Which heads matter, for which word."""

import streamlit as st

from viz.pages.why.asked import Asked


def heads_section(asked: Asked) -> None:
    """Draw the section."""
    st.header("Which heads matter?")
