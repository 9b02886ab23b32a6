"""The viewer of a run's attention on a page, and the state of its choice.

The choice is stored in the session under its names in the address, so an address restores it and pages with
the same choice stay in step.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
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
from viz.widgets import HeadPicker

_COUNTED = ("layer", "head")
_OWNER = "owner of the cell of "
_FIRST = "first head of "
_OWNED = ("cell", "locked")
"""Parts of a choice that are dropped when the owner changes."""
TERMS = ("query", "key", "score", "mask", "softmax", "weight")
"""Terms linked to their explanations in the headings of a cell's arithmetic."""
MOST_PIECES = 8
"""Most pieces per answer; a browser asks for no more at a time."""


def viewer(
    viewed: ViewerRun,
    *,
    key: str,
    prefix: str = "",
    first: Choice | None = None,
    owner: Hashable = None,
    views: Sequence[str] = VIEWS,
    on_why: Callable[[JSON], None] = lambda _: None,
    **options: Any,
) -> Choice:
    """Draw the viewer of a run and return its choice. To be called in a fragment.

    Args:
        viewed: the run.
        key: the view's identity on the page.
        prefix: prefix of the choice's names; viewers with the same prefix share their choice.
        first: the choice before the user makes one; None for the head that is easiest to read in the first
            run shown. It is kept for later ones, so that of two sentences only the words differ.
        owner: what a chosen cell belongs to; the cell is dropped when it changes.
        views: the views to offer.
        on_why: called with the index of a word in the option "why" that the user asks about, before the run
            that it starts.
        options: further arguments of `viz.viewer.frames.run_frame`.
    """
    default = first or default_choice(viewed)
    first = first or _kept(default, viewed, prefix)
    asked_for, shown = f"{key} pieces", f"{key} run"
    is_other_run = st.session_state.get(shown) != run_id(viewed)
    choice = _chosen(viewed, prefix, first, owner, views)
    if is_other_run and shown in st.session_state and choice.cell and _frames(viewed, choice):
        choice = replace(choice, cell=None)
        st.session_state[key_of(prefix, "cell")] = ""
    defaults = default.written()
    for name, text in choice.written().items():
        address.write(key_of(prefix, name), text, defaults[name])

    def choose(value: JSON) -> None:
        if isinstance(value, dict):
            keep(read_choice(value, viewed, first, views), prefix)
            if "why" in value:
                on_why(value["why"])

    def fetch(value: JSON) -> None:
        if isinstance(value, list):
            st.session_state[asked_for] = [name for name in value if isinstance(name, str)][:MOST_PIECES]

    def update() -> bytes:
        return update_frame(viewed, choice, st.session_state.pop(asked_for, []))

    if is_other_run:
        st.session_state[asked_for] = [*first_pieces(viewed, choice), *st.session_state.get(asked_for, [])]
        st.session_state[shown] = run_id(viewed)
    attention(
        run_frame(viewed, current_theme(), channel=key, views=list(views), terms=links(*TERMS), **options),
        update,
        key=key,
        on_choose=choose,
        on_fetch=fetch,
    )
    return choice


def keep(choice: Choice, prefix: str = "") -> None:
    """Set the user's choice. To be called from a callback."""
    for name, text in choice.written().items():
        # As numbers, like those in the other pages' lists of layers and heads.
        st.session_state[key_of(prefix, name)] = int(text) if name in _COUNTED else text


def _kept(default: Choice, viewed: ViewerRun, prefix: str) -> Choice:
    """The default of the first run shown, as long as the models have the same attentions and heads."""
    shapes = {name: (own.n_layers, own.n_heads) for name, own in viewed.attentions.items()}
    known, first = st.session_state.get(_FIRST + prefix, ({}, default))
    if known != shapes or address.is_to_be_read(_FIRST + prefix):
        first = default
    st.session_state[_FIRST + prefix] = shapes, first
    return replace(default, attention=first.attention, layer=first.layer, head=first.head)


def _chosen(viewed: ViewerRun, prefix: str, first: Choice, owner: Hashable, views: Sequence[str]) -> Choice:
    """The choice of the user or the address, limited to what this run has."""
    HeadPicker(*(key_of(prefix, name) for name in _COUNTED)).forget_unused()
    values: dict[str, str | int] = {}
    for name in NAMES:
        key = key_of(prefix, name)
        if address.is_to_be_read(key):
            st.session_state[key] = _read(key, name)
        # Set again, or it would be lost together with another page's picker of this name.
        values[key] = st.session_state[key] = st.session_state[key]
    known = _OWNER + prefix
    if st.session_state.get(known, owner) != owner:
        for name in _OWNED:
            key = key_of(prefix, name)
            values[key] = st.session_state[key] = ""
    st.session_state[known] = owner
    return choice_in_address(values, viewed, prefix, first, views)


def _frames(viewed: ViewerRun, choice: Choice) -> bool:
    """True if the chosen row or column stands for a token that only frames the sentence."""
    assert choice.cell
    (query, key), attention = choice.cell, viewed.attentions[choice.attention]
    side = viewed.sides[attention.queries]
    writes = choice.rows == "written" and bool(side.spelled)
    is_framing_row = not side.spelled[query] if writes else query in side.special
    return is_framing_row or key in viewed.sides[attention.keys].special


def choice_in_address(
    values: Mapping[str, str | int],
    viewed: ViewerRun,
    prefix: str = "",
    first: Choice | None = None,
    views: Sequence[str] = VIEWS,
) -> Choice:
    """The choice in the values of an address, limited to what a run has; see `viewer`."""
    own = {name: values.get(key_of(prefix, name), "") for name in NAMES}
    return read_choice({name: value for name, value in own.items() if value != ""}, viewed, first, views)


def key_of(prefix: str, name: str) -> str:
    """The key of a part of the choice; "heads" itself is taken by the sidebar's number of heads."""
    return f"{prefix}lines" if name == "heads" else prefix + name


def _read(key: str, name: str) -> str | int:
    """Read a part of the choice from the address; "" if it isn't there."""
    text = address.read(key, "")
    return int(text) if name in _COUNTED and text.isdecimal() and len(text) < 10 else text
