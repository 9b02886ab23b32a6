"""The viewer of a run's attention: mounted once, then updated; it draws from the data in the browser."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz.components.bridge import attention_update
from viz.components.shared.client_view import JSON, ClientView

_VIEW = ClientView("attention")


def attention(
    frame: bytes,
    update: Callable[[], bytes],
    *,
    key: str,
    on_choose: Callable[[JSON], None],
    on_fetch: Callable[[JSON], None],
) -> None:
    """Draw the viewer.

    Args:
        frame: the run, from ``viz.viewer.frames.run_frame``, whose channel is the key.
        update: packs the choice and the pieces that the viewer has requested, by ``update_frame``.
        key: its identity on the page. With the same key it is redrawn in place.
        on_choose: called with the user's choice, as sent by the browser, before the run that it starts.
        on_fetch: likewise called with the names of pieces that the viewer needs; the next update has them.
    """
    _VIEW.mount(frame, key=key, parse=lambda value: value, on_select=on_choose)
    _answer(update, key, on_fetch)


@st.fragment
def _answer(update: Callable[[], bytes], key: str, on_fetch: Callable[[JSON], None]) -> None:
    """Send an update; a request of the viewer redraws only this, and not the section around the viewer."""
    attention_update(key, update(), key=f"{key} update", on_fetch=on_fetch)
