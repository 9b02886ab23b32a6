"""A figure on a page: the picture, one sentence under it, and a menu that saves it."""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

from viz.figures import export

MIME_TYPES = {"png": "image/png", "svg": "image/svg+xml", "html": "text/html", "csv": "text/csv"}


def show(figure: go.Figure, *, name: str, caption: str, key: str) -> None:
    """Draw a figure with its caption and its Save menu.

    Args:
        figure: from viz.figures.
        name: of the files it is saved to; letters, digits and dashes.
        caption: one sentence of ours that says what is drawn; Markdown, so never with users' text in it.
        key: the figure's identity on the page; the menu's is made from it.
    """
    file = {"filename": export.file_name(name, "png").removesuffix(".png"), "scale": 2}
    config = export.CONFIG | {"toImageButtonOptions": file}
    st.plotly_chart(figure, theme=None, key=key, config=config, alt=caption)
    with st.container(horizontal=True, horizontal_alignment="right"):
        st.caption(caption, width="stretch")
        with st.container(width="content"):
            _save_menu(lambda: figure, name=name, key=f"{key}_save")


def save_menu(make_figure: Callable[[], go.Figure], *, name: str, key: str) -> None:
    """Draw the Save menu of a picture that is no figure on the page: at the same place, its lower right.

    The arguments are those of the figure's file: see `_save_menu`.
    """
    with st.container(horizontal=True, horizontal_alignment="right"), st.container(width="content"):
        _save_menu(make_figure, name=name, key=key)


@st.fragment
def _save_menu(make_figure: Callable[[], go.Figure], *, name: str, key: str) -> None:
    """Offer to save a figure as PNG, SVG, HTML and its numbers as CSV.

    The figure is made when the menu is opened, and a file when its button is clicked. The menu is a
    fragment: opening it draws nothing else again.

    Args:
        make_figure: returns the figure, in the current theme.
        name: of the files; letters, digits and dashes.
        key: the menu's identity on the page.
    """
    menu = st.popover(
        "Save",
        key=key,
        width="content",
        wrap=False,
        on_change="rerun",
        help="Save this figure or its numbers",
    )
    if not menu.open:
        return
    figure = make_figure()
    with menu:
        if export.has_chromium():
            _file("PNG image", export.to_png, figure, name, "png", key)
            _file("SVG image", export.to_svg, figure, name, "svg", key)
        else:
            st.caption(str(export.NoChromiumError()))
        _file("HTML page", export.to_html, figure, name, "html", key)
        _file("CSV numbers", export.to_csv, figure, name, "csv", key)


def _file(
    label: str, write: Callable[[go.Figure], bytes], figure: go.Figure, name: str, extension: str, key: str
) -> None:
    """A button that makes its file when it is clicked, and turns a wheel until the file is there."""
    st.download_button(
        label,
        data=lambda: write(figure),
        file_name=export.file_name(name, extension),
        mime=MIME_TYPES[extension],
        on_click="ignore",
        key=f"{key}_{extension}",
        width="stretch",
    )
