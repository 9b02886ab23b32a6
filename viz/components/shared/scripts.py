"""Delivers the built scripts to the browser, as files or as text with every update."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer
from streamlit.errors import StreamlitAPIException

_BUILT = files("headlight") / "browser"


def component(name: str, *, html: str | None = None, css: str | None = None) -> ComponentRenderer:
    """Make a Streamlit component of ``headlight/browser/<name>.js``, which ``make views`` builds.

    Args:
        name: the script's name without suffix; pyproject.toml declares a component of that name.
        html: initial content of the component.
        css: its style sheet.
    """
    # Registered at first use: only then is there a server, which knows what is installed.
    renderer = cache(lambda: _register(name, html, css))

    def render(**options: Any) -> Any:
        return renderer()(**options)

    return render


def _register(name: str, html: str | None, css: str | None) -> ComponentRenderer:
    """Let the browser load the script once; if Headlight is not installed, send its text every time."""
    declared = f"headlight.{name}"
    try:
        return st.components.v2.component(declared, js=f"{name}.js", html=html, css=css)
    except StreamlitAPIException:
        text = (_BUILT / f"{name}.js").read_text(encoding="utf-8")
        return st.components.v2.component(declared, js=text, html=html, css=css)
