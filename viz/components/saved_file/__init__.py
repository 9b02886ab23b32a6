"""A file on its way from the server to the user's disk.

It goes with the page's own messages: Streamlit's store of files forgets one that is made for a click, and the
button that makes it, as soon as the page or anybody else's has run again.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import numpy as np

from viz.components.shared.frame import pack_frame
from viz.components.shared.scripts import component

_renderer = component("saved_file")


def pack_file(content: bytes, *, name: str, mime: str) -> bytes:
    """Pack what is in a file, what the browser proposes to call it, and its MIME type."""
    data = {"id": uuid4().hex, "name": name, "mime": mime}
    return pack_frame(data, {"content": np.frombuffer(content, np.uint8)})


def hand_over(packed: bytes, *, key: str, on_saved: Callable[[], None]) -> None:
    """Have the browser save a file, once however often this is called. Draws nothing.

    Args:
        packed: from ``pack_file``.
        key: identity on the page.
        on_saved: called when the browser has it.
    """
    _renderer(key=key, data=packed, on_saved_change=on_saved)
