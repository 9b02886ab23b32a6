"""A file on its way from the server to the user's disk.

It goes with the page's own messages: Streamlit's store of files forgets one that is made for a click, and the
button that makes it, as soon as the page or anybody else's has run again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

import numpy as np

from viz.components.shared.client_view import JSON, ClientView
from viz.components.shared.frame import pack_frame

_VIEW = ClientView("saved_file")


@dataclass(frozen=True)
class SavedFile:
    """A file to be saved.

    Attributes:
        content: what is in it.
        name: what the browser proposes to call it.
        mime: its MIME type.
        id: tells it from every other.
    """

    content: bytes
    name: str
    mime: str
    id: str = field(default_factory=lambda: uuid4().hex)


def hand_over(file: SavedFile, *, key: str, on_saved: Callable[[], None]) -> None:
    """Have the browser save a file, once however often this is called. Draws nothing.

    Args:
        file: the file.
        key: identity on the page.
        on_saved: called when the browser has it.
    """

    def parse(value: JSON) -> str:
        # What the browser says of an earlier file may come when this one has taken its place.
        if value != file.id:
            raise ValueError(f"not this file: {value!r}")
        return file.id

    data = {"id": file.id, "name": file.name, "mime": file.mime}
    frame = pack_frame(data, {"content": np.frombuffer(file.content, np.uint8)})
    _VIEW.mount(frame, key=key, parse=parse, on_select=lambda _: on_saved())
