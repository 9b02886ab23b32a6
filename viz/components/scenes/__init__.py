"""Scenes in the browser: the panel that keeps a moment, and the show that steps through them."""

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
    revision: int,
    steps: int,
    note: str,
    colors: Theme,
    key: str,
    on_keep: Callable[[JSON], None],
    on_restore: Callable[[JSON], None],
    on_type: Callable[[JSON], None],
) -> None:
    """Draw the panel.

    Args:
        scenes: of each its data under "scene", its "title", and what it lacks here under "lack".
        here: the path of this page, as the navigation has it.
        can_keep: whether there is something to keep on this page.
        revision: counts the changes of the scenes; 0 asks the browser for what it remembers.
        steps: counts the runs in which the address decided on everything; by it the browser knows that a
            scene has come.
        note: a sentence under the panel.
        colors: of the page.
        key: its identity on the page.
        on_keep: called with {"caption", "place"} when the user keeps a moment.
        on_restore: called with the list of scenes that the browser remembers.
        on_type: called with whether type is to be large.
    """
    data = {"scenes": list(scenes), "here": here, "canKeep": can_keep, "revision": revision}
    _renderer(
        key=key,
        data=data | {"steps": steps, "note": note, "colors": color_data(colors)},
        on_keep_change=reporter(key, "keep", on_keep),
        on_restore_change=reporter(key, "restore", on_restore),
        on_large_change=reporter(key, "large", on_type),
    )
