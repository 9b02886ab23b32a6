"""Mounts the viewer of a small model's run; what is typed says which, and what is chosen in it to begin with.

    view=rotary&text=The dog saw a cat.&layer=1&cell=3,2

`view` is a kind of `tests.support.runs.MODELS`; `text`, `target` and `sharpness` are those of `ran`; with
`known=weights` only the weights of the run are known. The rest are names of `viz.viewer.choice.NAMES`, of
which the view is called `look` here.
"""

import streamlit as st

from tests.browser.apps.asked import Asked
from tests.support.runs import TEXT, ran
from viz.pages.shared.attention_view import viewer
from viz.viewer.choice import NAMES
from viz.viewer.held_run import HeldRun


@st.cache_resource(max_entries=4)
def held_run(kind: str, text: str, target: str, sharpness: int, known: str) -> HeldRun:
    run = ran(kind, text, target, sharpness)
    return run.held_weights() if known == "weights" else run.held()


@st.fragment
def show() -> None:
    held = held_run(
        ASKED.view,
        ASKED.word("text", TEXT),
        ASKED.word("target", ""),
        ASKED.number("sharpness", 1),
        ASKED.word("known", "all"),
    )
    choice = viewer(held, key=f"viewer {ASKED.text}")
    st.text(f"chosen: {choice.attention} {choice.layer} {choice.head} {choice.cell}")


st.set_page_config(layout="wide")
ASKED = Asked()
if ASKED.view:
    if st.session_state.get("shown before") != ASKED.text:
        st.session_state["shown before"] = ASKED.text
        for name in NAMES:
            st.session_state[name] = ASKED.word("look" if name == "view" else name, "")
    show()
    ASKED.say_shown()
