"""The viewer on a page: what a run's attention is drawn with, and where what is chosen in it is kept.

What is chosen is kept in the session under the names that it has in the address too, so that an address
restores it, and pages that show the same thing go along with each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import streamlit as st

from viz import address
from viz.components.attention import attention
from viz.components.shared.client_view import JSON
from viz.glossary import links
from viz.session import current_theme
from viz.viewer.choice import NAMES, VIEWS, Choice, default_choice, read_choice
from viz.viewer.frames import first_pieces, run_frame, run_id, update_frame
from viz.viewer.viewer_run import ViewerRun

_COUNTED = ("layer", "head")
_SUBJECT = "subject of the cell of "
_OF_SUBJECT = ("cell", "locked")
"""What means nothing for another subject."""
TERMS = ("query", "key", "score", "mask", "softmax", "weight")
"""In the headings of a cell's arithmetic."""
MOST_PIECES = 8
"""Pieces that one answer of the server has: a browser asks for no more at a time."""


def viewer(
    held: ViewerRun,
    *,
    key: str,
    prefix: str = "",
    first: Choice | None = None,
    subject: Hashable = None,
    views: Sequence[str] = VIEWS,
    **options: Any,
) -> Choice:
    """Draw the viewer of a run and return what is chosen in it. To be called in a fragment.

    Args:
        held: the run.
        key: of the view on the page.
        prefix: of the names under which the choice is kept: a viewer with one of its own is chosen in by
            itself, and the others go along with each other.
        first: what is chosen where nobody has chosen.
        subject: what a chosen cell belongs to: with another one, none is chosen.
        views: those that are offered.
        options: of `viz.viewer.frames.run_frame`.
    """
    first = first or default_choice(held)
    choice = _chosen(held, prefix, first, subject, views)
    asked_for, shown = f"{key} pieces", f"{key} run"

    def choose(value: JSON) -> None:
        if isinstance(value, dict):
            keep(read_choice(value, held, first, views), prefix)

    def fetch(value: JSON) -> None:
        if isinstance(value, list):
            st.session_state[asked_for] = [name for name in value if isinstance(name, str)][:MOST_PIECES]

    pieces = st.session_state.pop(asked_for, [])
    if st.session_state.get(shown) != run_id(held):
        pieces = [*first_pieces(held, choice), *pieces]
        st.session_state[shown] = run_id(held)
    attention(
        run_frame(held, current_theme(), channel=key, views=list(views), terms=links(*TERMS), **options),
        update_frame(held, choice, pieces),
        key=key,
        on_choose=choose,
        on_fetch=fetch,
    )
    return choice


def keep(choice: Choice, prefix: str = "") -> None:
    """Make a choice the user's. To be called from a callback."""
    for name, text in choice.written().items():
        # Numbers as the other pages' lists of layers and heads have them.
        st.session_state[key_of(prefix, name)] = int(text) if name in _COUNTED else text


def _chosen(held: ViewerRun, prefix: str, first: Choice, subject: Hashable, views: Sequence[str]) -> Choice:
    """What the user has chosen, or the address has, as far as this run allows it; the address then has it."""
    said: dict[str, str | int] = {}
    for name in NAMES:
        key = key_of(prefix, name)
        if address.is_to_be_read(key):
            st.session_state[key] = _of_address(key, name)
        # Set again, or another page's picker of this name would take it along when it goes.
        said[key] = st.session_state[key] = st.session_state[key]
    known = _SUBJECT + prefix
    if st.session_state.get(known, subject) != subject:
        for name in _OF_SUBJECT:
            key = key_of(prefix, name)
            said[key] = st.session_state[key] = ""
    st.session_state[known] = subject
    choice = choice_said(said, held, prefix, first, views)
    defaults = first.written()
    for name, text in choice.written().items():
        address.write(key_of(prefix, name), text, defaults[name])
    return choice


def choice_said(
    said: Mapping[str, str | int],
    held: ViewerRun,
    prefix: str = "",
    first: Choice | None = None,
    views: Sequence[str] = VIEWS,
) -> Choice:
    """The choice that an address says, as far as a run allows it; see `viewer`."""
    values = {name: said.get(key_of(prefix, name), "") for name in NAMES}
    return read_choice({name: value for name, value in values.items() if value != ""}, held, first, views)


def key_of(prefix: str, name: str) -> str:
    """Where a part of the choice is kept; "heads" is the sidebar's, for how many a random model has."""
    return f"{prefix}lines" if name == "heads" else prefix + name


def _of_address(key: str, name: str) -> str | int:
    """What the address says of a part of the choice; "" where it says nothing."""
    text = address.read(key, "")
    return int(text) if name in _COUNTED and text.isdecimal() and len(text) < 10 else text
