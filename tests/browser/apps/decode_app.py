"""Mounts the Decode page's views with made-up numbers; what is typed chooses which, and how large."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from tests.browser.apps.asked import Asked, pick, picked
from tests.browser.apps.synthetic import next_logits, words
from tests.browser.apps.synthetic_search import made_up_search
from viz.components.beam_tree import Place, TreeSelection, beam_tree
from viz.components.next_tokens import Reshaping, next_tokens
from viz.theme import palette


@st.fragment
def show_tree() -> None:
    nodes, hypotheses, cuts = made_up_search(ASKED.number("beam", 4), ASKED.number("steps", 9))
    if ASKED.number("short", 0):
        nodes = [replace(node, token=node.token[0]) for node in nodes]

    def choose(selection: TreeSelection) -> None:
        pick(selection)
        if isinstance(selection, Place):
            st.session_state["place"] = selection

    beam_tree(
        nodes,
        hypotheses,
        given=1,
        cuts=cuts,
        more=[0] * len(cuts),
        place=st.session_state.get("place", Place(hypotheses[0].node, len(cuts) - 1)),
        colors=COLORS,
        key=f"tree {ASKED.text}",
        on_select=choose,
    )
    st.text(f"picked {picked()}")


@st.fragment
def show_next() -> None:
    next_tokens(
        next_logits(ASKED.number("tokens", 6_000)),
        words(40),
        open_tokens=[i != 3 for i in range(40)],
        chosen=1,
        settings=Reshaping(),
        colors=COLORS,
        key=f"next {ASKED.text}",
        on_select=pick,
    )
    st.text(f"picked {picked()}")


SHOW = {"tree": show_tree, "next": show_next}
COLORS = palette("light")
st.set_page_config(layout="wide")
ASKED = Asked()
if ASKED.view:
    SHOW[ASKED.view]()
    ASKED.say_shown()
