"""Python's end of the bridge to the browser, for helpers that draw nothing.

A message is a frame whose ``kind`` names its helper in bridge.js; the helper may answer through the trigger
"answer". Each function sends one kind of message; it may be called in several places, each with its own key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

import numpy as np
import streamlit as st

from viz.components.shared.client_view import JSON, reporter
from viz.components.shared.frame import pack_frame
from viz.components.shared.scripts import component
from viz.streamlit_private import chart_script

_render = component("bridge")


def _send(
    kind: str,
    data: dict[str, JSON],
    content: bytes | None = None,
    *,
    key: str,
    on_answer: Callable[[JSON], None] = lambda _: None,
) -> JSON:
    """Send a message and return the helper's answer if it started this run, else None.

    Args:
        kind: the helper.
        data: the message's fields.
        content: its bytes, if any, as the field "content".
        key: the helper's identity on the page.
        on_answer: called with an answer, before the run that it starts.
    """
    arrays = {} if content is None else {"content": np.frombuffer(content, np.uint8)}
    frame = pack_frame({"kind": kind} | data, arrays)
    return _render(key=key, data=frame, on_answer_change=reporter(key, "answer", on_answer)).answer


def attention_update(channel: str, update: bytes, *, key: str, on_fetch: Callable[[JSON], None]) -> None:
    """Send an update to the viewer that listens on the channel; `on_fetch` gets the pieces it requests."""
    _send("attention_update", {"channel": channel}, update, key=key, on_answer=on_fetch)


def clock(seconds: float | None, *, key: str) -> None:
    """Rerun the surrounding fragment every `seconds` seconds; None stops the clock.

    Each run of the fragment sets it again, so no run of the whole page is needed to start or stop it.
    """
    _send("clock", {"seconds": seconds}, key=key)


def large_type(magnification: float, *, key: str, on_change: Callable[[JSON], None]) -> None:
    """Make the browser report the page's magnification whenever it differs from this one.

    Only figures need it in Python: everything else is scaled by the style sheet.
    """
    _send("large_type", {"magnification": magnification}, key=key, on_answer=on_change)


def page_helpers(key: str) -> str:
    """Install what every page needs; to be called on each page, before anything that writes to the address.

    - Back and Forward go from visit to visit, and no click overtakes a page link (``navigation.js``).
    - On a phone the sidebar closes once a page is chosen (``navigation.js``).
    - Wide formulas are drawn smaller or scroll, and the Tab key reaches those (``formula_stops.js``).
    - A chosen section begins at its start, and its button is in view (``section_menu.js``).
    - Streamlit's script for charts is loaded before the first chart (``chart_script.js``).
    - Terms show their explanation (``terms.js``), and keys step through a lesson (``lesson_keys.js``).
    - A lone surrogate, which a broken paste leaves, becomes U+FFFD (``whole_characters.js``).

    Returns the lesson requested by a click on a term, or "". The browser may send any text.
    """
    lesson = _send("page_helpers", {"chart_script": chart_script()}, key=key)
    return lesson if isinstance(lesson, str) else ""


@st.fragment
def run_all(key: str) -> None:
    """Run the whole page when the browser asks for it (``after_user.js``).

    It asks through this fragment: if the browser itself requested a run of the whole page, Streamlit would
    drop anything waiting to run, such as a click.
    """
    if _send("run_all", {}, key=key):
        st.rerun()


@dataclass(frozen=True)
class SavedFile:
    """A file for the user's disk.

    Attributes:
        content: its bytes.
        name: the suggested file name.
        mime: its MIME type.
        id: unique to this file.
    """

    content: bytes
    name: str
    mime: str
    id: str = field(default_factory=lambda: uuid4().hex)


def save_file(file: SavedFile, *, key: str, on_saved: Callable[[], None]) -> None:
    """Make the browser save a file, once however often this is called; `on_saved` is called once it has.

    The file travels with the page's own messages: Streamlit's file store would forget it, and its download
    button, as soon as anyone's page has run again.
    """

    def confirm(saved_id: JSON) -> None:
        # The answer about an earlier file may arrive after this one has replaced it.
        if saved_id == file.id:
            on_saved()

    data = {"id": file.id, "name": file.name, "mime": file.mime}
    _send("saved_file", data, file.content, key=key, on_answer=confirm)
