"""A page's sections, of which the reader sees one at a time: a page of thousands of pixels hides its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from viz.widgets import pick_button

SECTION = "section"
"""Name of the choice in the address; its value is the section's name."""


def sections(parts: Mapping[str, Callable[[], None]]) -> None:
    """Draw the menu of a page's sections, which stays in view, and the chosen section.

    Only that section is computed. It is drawn in a container with the key "section <name>".

    Args:
        parts: one or more functions that draw a section, by its name; the first is the initial choice.
    """
    with st.container(key="sections"):
        menu = st.container(key="section_menu")
        name = pick_button(
            menu.segmented_control,
            "Section",
            {name: name for name in parts},
            key=SECTION,
            label_visibility="collapsed",
        )
        with st.container(key=f"{SECTION} {name}"):
            parts[name]()
