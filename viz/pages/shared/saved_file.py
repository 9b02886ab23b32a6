"""A button that saves a file, made when the button is clicked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import streamlit as st

from viz.components.bridge import SavedFile, save_file
from viz.figures.export import NoChromiumError
from viz.pages.shared.literal_text import refused


@st.fragment
def save_button(
    label: str,
    make: Callable[[], bytes],
    *,
    file_name: str,
    mime: str,
    key: str,
    about: str | None = None,
    is_primary: bool = False,
    is_wide: bool = False,
) -> None:
    """Draw the button. It is a fragment: a click redraws nothing else.

    Args:
        label: the button's label.
        make: returns the content of the file; its NoChromiumError is shown.
        file_name: the name that the browser proposes.
        mime: MIME type of the file.
        key: the button's identity on the page.
        about: one sentence about the file.
        is_primary: draw it as the primary button.
        is_wide: make it as wide as its container.
    """
    width: Literal["stretch", "content"] = "stretch" if is_wide else "content"
    waiting = f"{key}_waiting"  # until the browser reports that it has the file: the page may rerun before
    with st.container(width=width, gap=None):
        if st.button(label, key=key, type="primary" if is_primary else "secondary", help=about, width=width):
            try:
                with st.spinner("Making the file …"):
                    st.session_state[waiting] = SavedFile(make(), file_name, mime)
            except NoChromiumError as error:
                st.space("small")
                refused("This can't be saved.", error)
        if waiting in st.session_state:
            file = st.session_state[waiting]
            save_file(file, key=f"{key}_file", on_saved=lambda: st.session_state.pop(waiting, None))
