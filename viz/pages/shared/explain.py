"""The words beside the pictures, in the same form on every page. All are ours: no text of users in here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from transformer.files import CODE
from viz.glossary import linked


def explain(*, what: str, look: str, formula: str = "", computed: Callable[..., Any], path: str = "") -> None:
    """Say what is to be seen, the formula with this run's numbers, what to look at, and what computed it.

    Args:
        what: two or three sentences: what you see. Markdown of ours.
        look: what to look at. Markdown of ours.
        formula: LaTeX of ours with numbers formatted into it; empty where there is none.
        computed: the function that computed the numbers.
        path: the path of the recorded tensor or module, if there is one.
    """
    prose(what)
    if formula:
        st.latex(formula)
    prose(f"**Look at** {look}")
    computed_by(computed, path)


def prose(markdown: str) -> None:
    """Draw Markdown of ours; beside each term in it appears its explanation."""
    st.markdown(linked(markdown))


def computed_by(function: Callable[..., Any], path: str = "") -> None:
    """Name the file, line and function that computed what is shown, and the path it is recorded under."""
    recorded = f", recorded as `{path}`" if path else ""
    st.markdown(f"Computed by `{source_of(function)}`{recorded}")


@lru_cache(maxsize=256)
def source_of(function: Callable[..., Any]) -> str:
    """The "file:line name" of a function or class of this project, the file relative to its folder."""
    plain = inspect.unwrap(function)
    file = Path(inspect.getfile(plain)).resolve()
    shown = file.relative_to(CODE) if file.is_relative_to(CODE) else Path(file.name)
    return f"{shown.as_posix()}:{inspect.getsourcelines(plain)[1]} {plain.__qualname__}"
