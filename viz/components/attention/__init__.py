"""The viewer of a run's attention: mounted once, then updated; it draws from the data in the browser."""

from __future__ import annotations

from collections.abc import Callable

from viz.components.bridge import attention_update
from viz.components.shared.client_view import JSON, ClientView

_VIEW = ClientView("attention")


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
        update: the choice and the pieces that the viewer requested, from ``update_frame``.
        key: its identity on the page. With the same key it is redrawn in place.
        on_choose: called with the user's choice, as sent by the browser, before the run that it starts.
        on_fetch: likewise called with the names of pieces that the viewer needs; the next update has them.
    """
    _VIEW.mount(frame, key=key, parse=lambda value: value, on_select=on_choose)
    attention_update(key, update, key=f"{key} update", on_fetch=on_fetch)
