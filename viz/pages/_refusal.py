"""A reason in words that may hold names out of a file: shown as it is, never as Markdown."""

from __future__ import annotations

import re

import streamlit as st

from viz.figures.labels import visible

_SIGNS = re.compile(r"[\\`*{}\[\]#~|<>$:]|(?<![^\W_])_|_(?![^\W_])")


def refused(title: str, error: Exception) -> None:
    """Say that something can't be done and why.

    Args:
        title: a sentence of ours; Markdown.
        error: its message is for people and may hold anything.
    """
    with st.container(border=True):
        st.warning(title)
        literal(str(error))


def escaped(text: str) -> str:
    """Text of a file for a label, which is Markdown: shown as it is, what is invisible made visible.

    An underscore inside a word is none of Markdown's signs, and a screen reader reads the label as written.
    """
    return _SIGNS.sub(r"\\\g<0>", visible(text, len(text) * 10))


def literal(text: str) -> None:
    """Draw text that may hold anything, line by line, with invisible characters made visible."""
    st.text("\n".join(visible(line, len(line) * 10) for line in text.split("\n") if line))
