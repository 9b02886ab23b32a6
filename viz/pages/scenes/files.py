"""Save scenes as a page; open scenes from a file, adding them to the current ones or replacing them."""

from __future__ import annotations

import streamlit as st

from viz.pages.scenes.saved_page import make_page
from viz.pages.scenes.session import kept_scenes, put_scenes
from viz.pages.shared.literal_text import escaped, refused
from viz.pages.shared.saved_file import save_button
from viz.saved_data import SavedDataError
from viz.scenes import FILE_KIND, MOST_SCENES, Scene, read_scenes

PAGE = "headlight-scenes.html"
PAGE_NOTE = (
    "One HTML file: the scenes in order, with the viewer and the numbers of every run on Explore. It works "
    "without Headlight and without a network"
)
_UPLOADS = "uploads of scenes"


@st.fragment
def save_page() -> None:
    """Offer all scenes as a page, made on request because its models must run."""
    if st.button("Save as a page", key="make_page", help=PAGE_NOTE):
        _offer_page()


def _offer_page() -> None:
    progress = st.progress(0.0, text="Making the page …")
    made = make_page(kept_scenes(), lambda done, text: progress.progress(done, text=text))
    progress.empty()
    save_button(
        f"Save {PAGE} ({max(len(made.content), 100_000) / 1e6:.1f} MB)",
        lambda: made.content,
        file_name=PAGE,
        mime="text/html",
        key="save_page",
        is_primary=True,
    )
    rest = (
        ""
        if made.n_shown == made.n_scenes
        else (" Each of the others lists its choices, and says why it has no picture.")
    )
    st.caption(f"With attention: {made.n_shown} of {_scenes(made.n_scenes)}.{rest}")


def open_file() -> None:
    """Draw the box for a file, and ask whether to add to or replace the current scenes."""
    uploads = st.session_state.setdefault(_UPLOADS, 0)
    file = st.file_uploader(
        "Open a file of scenes",
        type=["json"],
        max_upload_size=-(-FILE_KIND.largest // 1_000_000),
        key=f"scenes_file_{uploads}",
        help="A file saved here. No code in it is run; your scenes stay until you replace them.",
    )
    if file is None:
        return
    try:
        found = read_scenes(file.getvalue())
    except SavedDataError as error:
        refused("This can't be opened.", error)
        return
    _offer(found, escaped(file.name))


def _offer(found: list[Scene], name: str) -> None:
    kept = list(kept_scenes())
    st.markdown(f"**{name}** has {_scenes(len(found))}.")
    if not found:
        return
    with st.container(horizontal=True):
        if not kept:
            st.button("Open them", on_click=_take, args=(found,), type="primary")
            return
        room = MOST_SCENES - len(kept)
        st.button(
            f"Add them to your {_scenes(len(kept))}",
            on_click=_take,
            args=([*kept, *found],),
            disabled=len(found) > room,
            help=f"There is room for {room} more." if len(found) > room else None,
        )
        st.button(f"Replace your {_scenes(len(kept))}", on_click=_take, args=(found,))


def _take(scenes: list[Scene]) -> None:
    put_scenes(scenes)
    st.session_state[_UPLOADS] += 1  # a new, empty uploader


def _scenes(number: int) -> str:
    return "1 scene" if number == 1 else f"{number} scenes"
