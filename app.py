"""Headlight: see what happens inside a Transformer. Start it with `make run`, or with `headlight`."""

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import streamlit as st

from viz.components.bridge import page_helpers, run_all
from viz.page_titles import GROUPS, PAGES, PURPOSE, SCENES, SCENES_TITLE, TITLES
from viz.streamlit_private import (
    forget_left_sessions,
    ignore_requests_of_left_pages,
    receive_uploads_in_memory,
    send_every_message,
)
from viz.warm_up import is_warm, warm_up

send_every_message()
ignore_requests_of_left_pages()
receive_uploads_in_memory()
forget_left_sessions()

EXPLORE, TRAINING, LEARN = PAGES / "explore" / "page.py", "training", "learn"

# An SVG is sent within the page. Other images are served as files, which are lost when any user's run ends.
ICON = Path(__file__).parent / "assets" / "icon.svg"

# The first page has no path of its own, but people type and bookmark its name as a path.
is_named = urlsplit(st.context.url or "").path.endswith("/explore")
first: Literal["visible", "hidden"] = "hidden" if is_named else "visible"
named: Literal["visible", "hidden"] = "visible" if is_named else "hidden"
titles = {**TITLES, SCENES: SCENES_TITLE}
pages = {
    path: st.Page(PAGES / path.replace("-", "_") / "page.py", title=title, url_path=path)
    for path, title in titles.items()
    if path != "explore"
}
home = st.Page(EXPLORE, title=TITLES["explore"], url_path="home", default=True, visibility=first)
explore = st.Page(EXPLORE, title=TITLES["explore"], url_path="explore", visibility=named)
groups = {name: [pages[path] for path in paths if path in pages] for name, paths in GROUPS.items()}
page = st.navigation(
    {name: own if name != "Look" else [home, explore, *own] for name, own in groups.items()}, expanded=True
)
st.set_page_config(page_title=f"{page.title} · Headlight", page_icon=ICON, layout="wide")
with st.container(key="brand", horizontal=True, gap="small", vertical_alignment="center"):
    st.page_link(home, label="Headlight", width="content")
    st.caption(PURPOSE, width="content")
with st.sidebar:
    asked_lesson = page_helpers(key="page_helpers")
    run_all(key="run_all")
if not is_warm():
    # The frame appears at once, the rest once PyTorch and the model are loaded.
    with st.spinner("Loading PyTorch and the model …"):
        warm_up()


def draw() -> None:
    """Draw the page in its frame; the modules imported here are already loaded."""
    from viz import address
    from viz.pages.learn.session import follow_term
    from viz.pages.sidebar import sidebar
    from viz.pages.style import page_style
    from viz.pages.training.note import training_note
    from viz.text_session import texts_from_address, texts_to_address

    if asked_lesson:
        follow_term(asked_lesson, is_here=page.url_path == LEARN)
    address.restore()
    texts_from_address()
    page_style()
    sidebar(page.url_path)
    texts_to_address()
    if page.url_path != TRAINING:
        training_note()
    page.run()


draw()
