"""The viewer of a run's attention: mounted once, told what changed, painted from what the browser holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from viz.components.shared.client_view import JSON
from viz.components.shared.scripts import component

_VIEW = component("attention")
_UPDATE = component("attention_update")


def attention(
    frame: bytes,
    update: bytes,
    *,
    key: str,
    on_choose: Callable[[JSON], None],
    on_fetch: Callable[[JSON], None],
) -> None:
    """Draw the viewer.

    Args:
        frame: the run, from ``viz.viewer.frames.run_frame``, whose channel is the key.
        update: what is chosen and the pieces that were asked for, from ``update_frame``.
        key: its identity on the page. With the same key it is redrawn in place.
        on_choose: called with what the user chose, as the browser sent it, before the run that this starts.
        on_fetch: called with the names of pieces that the viewer lacks, likewise: the next update has them.
    """
    update_key = f"{key} update"

    def report(teller: str, name: str, call: Callable[[JSON], None]) -> Callable[[], None]:
        def tell() -> None:
            # What a view sent last may come when the page has gone on without it.
            value: Any = st.session_state.get(teller, {}).get(name)
            if value is not None:
                call(value)

        return tell

    _VIEW(key=key, data=frame, on_select_change=report(key, "select", on_choose))
    _UPDATE(key=update_key, data=update, on_fetch_change=report(update_key, "fetch", on_fetch))
