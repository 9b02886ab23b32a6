"""The viewer of a small run, for the tests of grid and matrix."""

import streamlit as st

from tests.browser.apps.asked import Asked
from tests.browser.apps.tiny_run import tiny_held
from viz.pages.shared.attention_view import viewer


@st.fragment
def show() -> None:
    viewer(
        tiny_held(ASKED.word("text", "short")),
        key=f"viewer {ASKED.text}",
        prefix=f"v{ASKED.number('call', 0)} ",
    )


st.set_page_config(layout="wide")
ASKED = Asked()
if ASKED.view:
    show()
    ASKED.say_shown()
