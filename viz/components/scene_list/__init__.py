"""The list of scenes: captions are written, the order is changed, and a scene is opened or deleted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from viz.components.shared.client_view import JSON, ClientView
from viz.components.shared.frame import color_data, pack_frame
from viz.theme import Theme

_VIEW = ClientView("scene_list")


def scene_list(
    scenes: Sequence[dict[str, Any]], *, colors: Theme, key: str, on_change: Callable[[JSON], None]
) -> None:
    """Draw the list.

    Args:
        scenes: of each its data under "scene", its "title", and what it lacks here under "lack".
        colors: of the page.
        key: its identity on the page.
        on_change: called with the list of scenes as the user has changed it.
    """
    frame = pack_frame({"scenes": list(scenes), "colors": color_data(colors)}, {})
    _VIEW.mount(frame, key=key, parse=lambda value: value, on_select=on_change)
