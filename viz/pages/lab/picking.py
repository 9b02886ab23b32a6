"""The lab's choices, all in the address: whether to break the model or to guess, and which mistake."""

from __future__ import annotations

import streamlit as st

from transformer.model.config import TransformerConfig
from viz import address
from viz.pages.lab.mistakes import MISTAKES
from viz.pages.lab.mistakes.drawing import fitting
from viz.pages.lab.mistakes.mistake import Mistake
from viz.widgets import in_a_row, pick_button, set_choice

MODE, MISTAKE = "lab", "mistake"
"""Query parameters."""
_LIST = "list of mistakes"
BREAK, GUESS = "break", "guess"


def pick_mode() -> str:
    """Draw the switch between the modes. When guessing, the address must not name the mistake."""
    mode = pick_button(in_a_row(), "What to do", {BREAK: "Break it", GUESS: "Guess the bug"}, key=MODE)
    if mode == GUESS:
        address.write(MISTAKE, "", "")
    return mode


def pick_mistake(config: TransformerConfig) -> Mistake:
    """Draw the list of all mistakes, unfit ones included, and a button for the next.

    The address has the mistake's name, as its label in the list depends on the model.
    """
    names = list(MISTAKES)
    fit = [mistake.name for mistake in fitting(config)] or names
    if address.is_to_be_read(MISTAKE):
        set_choice(MISTAKE, address.read(MISTAKE, ""))
    name = st.session_state[MISTAKE]
    address.write(MISTAKE, name, "")
    name = name if name in MISTAKES else fit[0]

    def take() -> None:
        set_choice(MISTAKE, st.session_state[_LIST])

    set_choice(_LIST, name)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Mistake",
            names,
            key=_LIST,
            on_change=take,
            format_func=lambda name: _in_list(MISTAKES[name], config),
            width=640,
        )
        later = [other for other in fit if names.index(other) > names.index(name)]
        following = (later or fit)[0]
        st.button("Next mistake", key="next_mistake", on_click=set_choice, args=(MISTAKE, following))
    return MISTAKES[name]


def open_mistake(name: str) -> None:
    """Open the page of a mistake. To be called from a callback."""
    set_choice(MODE, BREAK)
    set_choice(MISTAKE, name)


def _in_list(mistake: Mistake, config: TransformerConfig) -> str:
    group = mistake.group.capitalize()
    return f"{group}: {mistake.title}" + (" (not in this model)" if mistake.unfit(config) else "")
