"""The list of scenes, which can be captioned, reordered, opened, deleted, and saved as a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from viz.components.shared.client_view import JSON, ClientView
from viz.components.shared.frame import color_data, pack_frame
from viz.theme import Theme

_VIEW = ClientView("scene_list")


def scene_list(
    scenes: Sequence[dict[str, Any]],
    *,
    file: dict[str, Any],
    colors: Theme,
    key: str,
    on_change: Callable[[JSON], None],
) -> None:
    """Draw the list.

    Args:
        scenes: for each, its data under "scene", its "title", and any missing model under "lack".
        file: the "name" of the file to save, and its "head", the fields before the scenes.
        colors: the page's theme.
        key: its identity on the page.
        on_change: called with the changed list of scenes.
    """
    frame = pack_frame({"scenes": list(scenes), "file": file, "colors": color_data(colors)}, {})
    _VIEW.mount(frame, key=key, parse=lambda value: value, on_select=on_change)
