"""Scenes in the browser: the panel that saves the current view, and the show that steps through scenes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from viz.components.shared.client_view import JSON, reporter
from viz.components.shared.frame import color_data
from viz.components.shared.scripts import component
from viz.theme import Theme

_renderer = component("scenes")


def scenes_panel(
    scenes: Sequence[dict[str, Any]],
    *,
    here: str,
    can_keep: bool,
    pictures: Sequence[str],
    revision: int,
    steps: int,
    note: str,
    colors: Theme,
    key: str,
    on_keep: Callable[[JSON], None],
    on_restore: Callable[[JSON], None],
    on_page: Callable[[JSON], None],
    on_type: Callable[[JSON], None],
) -> None:
    """Draw the panel.

    Args:
        scenes: for each, its data under "scene", its "title", "sentence" and names of its "pictures", and any
            missing model under "lack".
        here: this page's path in the navigation.
        can_keep: True if views of this page can be saved.
        pictures: names of this page's own picture.
        revision: number of changes to the scenes; at 0 the browser reports those that it remembers.
        steps: number of runs that took everything from the address, which tells the browser that a scene
            has been opened.
        note: a sentence below the panel.
        colors: the page's theme.
        key: its identity on the page.
        on_keep: called with {"caption", "place"} when the user saves a scene.
        on_restore: called with the scenes that the browser remembers.
        on_page: called with a still of each scene, or "", when all are to be saved as a page.
        on_type: called with True or False to switch large type.
    """
    data = {"scenes": list(scenes), "here": here, "canKeep": can_keep, "revision": revision}
    _renderer(
        key=key,
        data=data | {"pictures": list(pictures), "steps": steps, "note": note, "colors": color_data(colors)},
        on_keep_change=reporter(key, "keep", on_keep),
        on_restore_change=reporter(key, "restore", on_restore),
        on_page_change=reporter(key, "page", on_page),
        on_large_change=reporter(key, "large", on_type),
    )
