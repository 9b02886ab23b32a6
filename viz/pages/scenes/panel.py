"""Scenes in the sidebar of every page: save the current view, present all scenes."""

from __future__ import annotations

from viz.components.scenes import scenes_panel
from viz.pages.scenes.session import (
    history_steps,
    keep_moment,
    kept_scenes,
    note,
    page_of,
    request_page,
    restore_scenes,
    revision,
    scene_data,
)
from viz.scenes import PICTURES
from viz.session import LARGE, current_theme
from viz.widgets import set_choice


def panel(url_path: str) -> None:
    """Draw the panel; every page needs it, since it presents the scenes.

    Args:
        url_path: path of the page on which it is drawn.
    """
    page = page_of(url_path)
    scenes_panel(
        [scene_data(scene) for scene in kept_scenes()],
        here=url_path,
        can_keep=bool(page),
        pictures=[*filter(None, (PICTURES.get(page),))],
        revision=revision(),
        steps=history_steps(),
        note=note(),
        colors=current_theme(),
        key="scenes_panel",
        on_keep=lambda moment: keep_moment(page, moment),
        on_restore=restore_scenes,
        on_page=request_page,
        on_type=lambda large: set_choice(LARGE, large is True),
    )
