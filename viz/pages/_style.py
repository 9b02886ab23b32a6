"""The few looks of Streamlit's own elements that its theme has no setting for. All CSS here is ours."""

from __future__ import annotations

import streamlit as st

from viz.session import current_theme

SHADED_EDGES = """
<style>
/* A formula wider than the page scrolls: a shade at an edge says that there is more of it beyond. Grounds
   that scroll with the formula cover the shade at its ends. */
.katex-display {{
  background:
    linear-gradient(90deg, {ground} 40%, #0000) left / 60px 100% no-repeat local,
    linear-gradient(270deg, {ground} 40%, #0000) right / 60px 100% no-repeat local,
    linear-gradient(90deg, {shade}, #0000) left / 24px 100% no-repeat scroll,
    linear-gradient(270deg, {shade}, #0000) right / 24px 100% no-repeat scroll;
}}
</style>
"""


def page_style() -> None:
    """Give every formula of the page shaded edges where it is cut; draws nothing itself."""
    theme = current_theme()
    st.html(SHADED_EDGES.format(ground=theme.background, shade=theme.accent + "99"))
