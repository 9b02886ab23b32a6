"""Untrusted text, from a user or a file: shown literally, never as Markdown."""

from __future__ import annotations

import re

import streamlit as st

from viz.figures.labels import visible_in_full

_SIGNS = re.compile(r"[\\`*{}\[\]#~|<>$:]|(?<![^\W_])_|_(?![^\W_])")


def refused(title: str, error: Exception) -> None:
    """Say what can't be done (our own Markdown), and why (an untrusted message)."""
    with st.container(border=True):
        st.warning(title)
        literal(str(error))


def escaped(text: str) -> str:
    """Escape text for a label, which is Markdown, and make invisible characters visible.

    An underscore inside a word is left as it is: a screen reader would read the escape aloud.
    """
    return _SIGNS.sub(r"\\\g<0>", visible_in_full(text))


def literal(text: str) -> None:
    """Draw text line by line, with invisible characters made visible."""
    st.text("\n".join(visible_in_full(line) for line in text.split("\n") if line))


def show_text(text: str) -> None:
    """Draw a source or target; "(nothing)" if it is empty."""
    st.text(visible_in_full(text) if text else "(nothing)")
