"""Text that may hold anything, a user's or a file's: shown as it is, never as Markdown."""

from __future__ import annotations

import re

import streamlit as st

from viz.figures.labels import visible_in_full

_SIGNS = re.compile(r"[\\`*{}\[\]#~|<>$:]|(?<![^\W_])_|_(?![^\W_])")


def refused(title: str, error: Exception) -> None:
    """Say that something can't be done (Markdown of ours), and why (a message that may hold anything)."""
    with st.container(border=True):
        st.warning(title)
        literal(str(error))


def escaped(text: str) -> str:
    """Text for a label, which is Markdown: shown as it is, what is invisible made visible.

    An underscore inside a word is none of Markdown's signs, and a screen reader reads the label as written.
    """
    return _SIGNS.sub(r"\\\g<0>", visible_in_full(text))


def literal(text: str) -> None:
    """Draw text line by line, with invisible characters made visible."""
    st.text("\n".join(visible_in_full(line) for line in text.split("\n") if line))


def show_text(text: str) -> None:
    """Draw what a model wrote, or what it was given; "(nothing)" where that is empty."""
    st.text(visible_in_full(text) if text else "(nothing)")
