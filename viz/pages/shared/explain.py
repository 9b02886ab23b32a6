"""The text next to the pictures, in the same form on every page; it contains no users' text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.files import source_of
from viz.glossary import linked

IN_CODE = "Where this is computed, in the code"


def explain(*, what: str, look: str, formula: str = "", computed: Callable[..., Any], path: str = "") -> None:
    """Draw an explanation, the formula with this run's numbers, what to look at, and where the code is.

    Args:
        what: what the picture shows, in two or three sentences; our own Markdown.
        look: what to look at; our own Markdown.
        formula: our own LaTeX with the numbers filled in; "" for none.
        computed: the function that computed the numbers.
        path: path of the recorded tensor or module, if there is one.
    """
    prose(what)
    if formula:
        st.latex(formula)
    prose(f"**Look at** {look}")
    computed_by(computed, path)


def prose(markdown: str) -> None:
    """Draw our own Markdown, with each term linked to its explanation."""
    st.markdown(linked(markdown))


def computed_by(function: Callable[..., Any], path: str = "") -> None:
    """Draw a button that opens the file, line and function that computed a picture, and its tensor's path."""
    recorded = f", recorded as `{path}`" if path else ""
    with in_code():
        st.markdown(f"Computed by `{source_of(function)}`{recorded}")


def in_code() -> DeltaGenerator:
    """Draw a small button that opens what is drawn in it: the place in the code."""
    return st.popover(":material/code: Code", width="content", type="tertiary", help=IN_CODE)
