"""A button that saves a file, which is made when it is clicked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count

import streamlit as st
from streamlit.runtime import get_instance

_KEPT = 16
"""Files that stay with the server: more than are on their way to a browser at any moment."""
_made = count()


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
    """Draw the button; it turns a wheel until the file is there.

    Args:
        label: the button's.
        make: returns what is in the file; it runs outside the session.
        file_name: what the browser proposes to call it.
        mime: its MIME type.
        key: the button's identity on the page.
        about: one sentence about the file.
        is_primary: whether it is what one comes for here.
        is_wide: whether the button is as wide as what it stands in.
    """
    st.download_button(
        label,
        data=partial(_kept, make, file_name, mime),
        file_name=file_name,
        mime=mime,
        on_click="ignore",
        type="primary" if is_primary else "secondary",
        key=key,
        help=about,
        width="stretch" if is_wide else "content",
    )


def _kept(make: Callable[[], bytes], file_name: str, mime: str) -> bytes:
    """Make a file, and have it kept for a while.

    Streamlit forgets one made for a click at the second end of anybody's run, which in a class may be before
    the browser has asked for it. No session is known here, so it is kept in nobody's name: the runs of its
    own user don't forget it either.
    """
    content = make()
    place = f"saved {next(_made) % _KEPT}"
    get_instance().media_file_mgr.add(content, mime, place, file_name, is_for_static_download=True)
    return content
