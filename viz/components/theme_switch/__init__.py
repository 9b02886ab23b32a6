"""The app's theme: light, dark or the system's, remembered by the user's browser."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from viz.components.shared.scripts import component
from viz.theme import ThemeName

_CHOICES = ("System", "Light", "Dark")
_OPTIONS = "".join(
    f'<label><input type="radio" name="theme" value="{choice}"><span>{choice}</span></label>'
    for choice in _CHOICES
)
_FAILURE = "This version of Streamlit does not let the app change its theme: it follows your system's."

_renderer = component(
    "theme_switch",
    html=f'<fieldset><legend>Theme</legend>{_OPTIONS}</fieldset><p role="status" hidden>{_FAILURE}</p>',
    css=Path(__file__).with_name("style.css").read_text(encoding="utf-8"),
)


def theme_choice(key: str) -> ThemeName:
    """Draw the switch; to be drawn on every page, so that a remembered choice applies to each.

    A choice changes the whole page at once and then starts a run, in which figures get the new colours. If a
    version of Streamlit does not allow that, a sentence below the switch says so.

    Returns:
        The theme of this run, "light" or "dark" even if it follows the system's.
    """
    theme: ThemeName = "dark" if st.context.theme.type == "dark" else "light"
    _renderer(key=key, data={"theme": theme}, on_changed_change=lambda: None)
    return theme
