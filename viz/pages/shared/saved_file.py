"""A button that saves a file, which is made when it is clicked."""

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
    """Draw the button. It is a fragment: a click draws nothing else again.

    Args:
        label: the button's.
        make: returns what is in the file; a NoChromiumError of its is told.
        file_name: what the browser proposes to call it.
        mime: its MIME type.
        key: the button's identity on the page.
        about: one sentence about the file.
        is_primary: whether it is what one comes for here.
        is_wide: whether the button is as wide as what it stands in.
    """
    width: Literal["stretch", "content"] = "stretch" if is_wide else "content"
    waiting = f"{key}_waiting"  # until the browser says that it has it: the page may run again before
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
