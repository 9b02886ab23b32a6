"""A figure on a page, with its caption and a menu that saves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.figures import export
from viz.figures.enlarged import enlarged
from viz.pages.shared.saved_file import save_button
from viz.session import magnification

FILES = {
    "png": ("PNG image", "image/png", export.to_png),
    "svg": ("SVG image", "image/svg+xml", export.to_svg),
    "html": ("HTML page", "text/html", export.to_html),
    "csv": ("CSV numbers", "text/csv", export.to_csv),
}
"""By file extension: menu label, MIME type, and the function that writes the file."""
IMAGES = ("png", "svg")
"""File types that only Chromium can draw."""
COLUMN_PIXELS, LETTER_PIXELS = 16, 8
"""Width of an upright label, and of a letter."""
PHONE_PIXELS = 310
"""Width of a figure on a phone, without the title of its rows."""


def wide(key: str, columns: Sequence[str], rows: Sequence[str] = ()) -> DeltaGenerator:
    """A container for a figure, which scrolls on a phone if the labels of its columns would overlap there.

    Args:
        key: the container's identity on the page.
        columns: labels below the picture, which are upright where they have no room side by side.
        rows: labels to the left of it.
    """
    needed = len(columns) * COLUMN_PIXELS + max(map(len, rows), default=0) * LETTER_PIXELS
    return st.container(key=f"wide_{key}" if needed > PHONE_PIXELS else key)


def show(figure: go.Figure, *, name: str, caption: str, key: str) -> None:
    """Draw a figure with its caption and its Save menu.

    Args:
        figure: from `viz.figures`.
        name: name of the saved files; letters, digits and dashes.
        caption: one sentence about the picture; Markdown, so it must not contain users' text.
        key: the figure's identity on the page; the menu's key is derived from it.
    """
    file = {"filename": export.file_name(name, "png").removesuffix(".png"), "scale": 2}
    config = export.CONFIG | {"toImageButtonOptions": file}
    st.plotly_chart(enlarged(figure, magnification()), theme=None, key=key, config=config, alt=caption)
    with st.container(horizontal=True, horizontal_alignment="right"):
        st.caption(caption, width="stretch")
        with st.container(width="content"):
            _save_menu(lambda: figure, name=name, key=f"{key}_save")


def save_menu(make_figure: Callable[[], go.Figure], *, name: str, key: str) -> None:
    """Draw the Save menu of a picture that the browser draws, at its lower right; see `_save_menu`."""
    with st.container(horizontal=True, horizontal_alignment="right"), st.container(width="content"):
        _save_menu(make_figure, name=name, key=key)


@st.fragment
def _save_menu(make_figure: Callable[[], go.Figure], *, name: str, key: str) -> None:
    """Offer a figure as PNG, SVG and HTML, and its numbers as CSV.

    The figure is made when the menu is opened, and each file when its button is clicked. The menu is a
    fragment: opening it redraws nothing else.

    Args:
        make_figure: returns the figure, in the current theme.
        name: name of the files; letters, digits and dashes.
        key: the menu's identity on the page.
    """
    about = "Save this figure or its numbers"
    menu = st.popover("Save", key=key, width="content", wrap=False, on_change="rerun", help=about)
    if not menu.open:
        return
    has_chromium, figure = export.expect_images(), make_figure()
    with menu:
        if not has_chromium:
            st.caption(str(export.NoChromiumError()))
        for extension, (label, mime, write) in FILES.items():
            if has_chromium or extension not in IMAGES:
                save_button(
                    label,
                    partial(write, figure),
                    file_name=export.file_name(name, extension),
                    mime=mime,
                    key=f"{key}_{extension}",
                    is_wide=True,
                )
