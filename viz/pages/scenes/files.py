"""Save scenes as a page; open scenes from a file, adding them to the current ones or replacing them."""

from __future__ import annotations

import streamlit as st

from viz.components.bridge import SavedFile, save_file
from viz.pages.scenes.saved_page import SavedPage, make_page
from viz.pages.scenes.session import kept_scenes, put_scenes, requested_stills, revision
from viz.pages.shared.literal_text import escaped, refused
from viz.saved_data import SavedDataError
from viz.scenes import FILE_KIND, MOST_SCENES, Scene, read_scenes

PAGE = "headlight-scenes.html"
_PAGE_FILE = "the page of scenes to be saved"
_PAGE_NOTE = "note on the page of scenes"
_UPLOADS = "uploads of scenes"


def save_page() -> None:
    """Make a page of all scenes when the browser has sent the stills for it, and have the browser save it."""
    stills = requested_stills()
    if stills is not None:
        progress = st.progress(0.0, text="Making the page …")
        made = make_page(kept_scenes(), lambda done, text: progress.progress(done, text=text), stills)
        progress.empty()
        st.session_state[_PAGE_FILE] = SavedFile(made.content, PAGE, "text/html")
        st.session_state[_PAGE_NOTE] = revision(), _saved(made)
    saved_revision, note = st.session_state.get(_PAGE_NOTE, (None, ""))
    if saved_revision == revision():
        st.caption(note)
    if _PAGE_FILE in st.session_state:
        file = st.session_state[_PAGE_FILE]
        save_file(file, key="saved_page", on_saved=lambda: st.session_state.pop(_PAGE_FILE, None))


def _saved(made: SavedPage) -> str:
    size = f"{PAGE} ({max(len(made.content), 100_000) / 1e6:.1f} MB)"
    pictures = f"{made.n_shown} of {_scenes(made.n_scenes)}"
    rest = (
        "" if made.n_shown == made.n_scenes else " The others list their choices and say why they have none."
    )
    return f"Saved as {size}, with the pictures of {pictures}.{rest}"


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
