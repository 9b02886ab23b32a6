"""Scenes: the moments that a user has kept, to be put in order, shown, saved and opened."""

import streamlit as st

from viz.components.scene_list import scene_list
from viz.pages.scenes.files import open_file, save_page
from viz.pages.scenes.session import kept_scenes, replace_scenes, scene_data
from viz.scenes import FILE, FILE_KIND
from viz.session import current_theme

st.title("Scenes")
st.markdown(
    "A scene is a moment that you have kept: the page, the sentence, the model, and everything that was "
    "chosen, with a sentence of your own as its caption. **Keep this**, in the sidebar, keeps what you see. "
    "**Show** goes through them on the whole screen: Page Down and Page Up, which presenters send too, or "
    "the arrow keys; F for the full screen and back, Escape to end."
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
    st.info("There are no scenes yet. Go to any other page, choose something to look at, and keep it.")
open_file()
