"""Scenes: views that a user has saved, to order, present, save and open."""

import streamlit as st

from viz.components.scene_list import scene_list
from viz.pages.scenes.files import open_file, save_page
from viz.pages.scenes.session import kept_scenes, replace_scenes, scene_data
from viz.scenes import FILE, FILE_KIND
from viz.session import current_theme

st.title("Scenes")
st.markdown(
    "A scene is a moment that you have kept: the page, the sentence, the model and all choices, with a "
    "caption of your own. **Keep this**, in the sidebar, keeps the current view. **Show** presents them on "
    "the whole screen: Page Down and Page Up, which presenters send too, or the arrow keys; F toggles full "
    "screen, Escape ends."
)
kept = kept_scenes()
if kept:
    scene_list(
        [scene_data(scene) for scene in kept],
        file={"name": FILE, "head": FILE_KIND.head},
        colors=current_theme(),
        key="scene_list",
        on_change=replace_scenes,
    )
    save_page()
else:
    st.info("There are no scenes yet. Go to another page, choose something to look at, and keep it.")
open_file()
