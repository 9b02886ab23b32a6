"""Values in the address that are not pickers: typed texts, and places that have no widget.

Streamlit itself binds pickers to the address. Everything else is stored in the session state under its name
in the address: it is read from the address at the first visit, and written to it from then on. After Back or
Forward, the restored address takes precedence.
"""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from transformer.text.spelling import SURROGATES
from viz.streamlit_private import is_bound, is_history_step, restore_query_params

LONGEST = 1_500
"""Bytes. Longer values are left out of the address: servers refuse addresses of several thousand bytes."""
_OWNER = "owner of "


def restore() -> None:
    """After Back or Forward, set every picker from the address; to be called before any is drawn."""
    if is_history_step():
        restore_query_params()


def as_typed(text: str) -> str:
    """Replace lone surrogates, which neither an address nor a cache can store."""
    return SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def is_to_be_read(name: str) -> bool:
    """True if the address takes precedence: at the first visit, and after Back or Forward."""
    return name not in st.session_state or is_history_step()


def read(name: str, default: str) -> str:
    """Read a value from the address."""
    return as_typed(st.query_params.get(name, default))


def write(name: str, value: str, default: str) -> None:
    """Write a value to the address, unless it is the default or very long.

    In a page's first run the name may still belong to a picker on the page that was left.
    """
    if is_bound(name):
        return
    if value == default or len(value.encode()) > LONGEST:
        if name in st.query_params:
            del st.query_params[name]
    elif st.query_params.get(name) != value:
        st.query_params[name] = value


def whole_numbers(written: str, separator: str = ",") -> list[int]:
    """Parse the whole numbers in a value of the address, skipping everything else."""
    return [int(part) for part in written.split(separator) if part.isdecimal() and len(part) < 10]


def remember(name: str, value: str, owner: Hashable = None) -> None:
    """Set a user's place or setting, even if its page was never visited; see `remembered`."""
    st.session_state[name] = value
    st.session_state[_OWNER + name] = (owner,)


def remembered(name: str, default: str, owner: Hashable = None) -> str:
    """A user's place or setting; reset to the default when its owner changes.

    Args:
        name: its name, also in the address.
        default: the value that is left out of the address.
        owner: what the setting belongs to: a node to its search, a prefix to its sentence and model.
    """
    known = st.session_state.get(_OWNER + name)
    if known is None or is_history_step():
        st.session_state[name] = read(name, default)
    elif known != (owner,):
        st.session_state[name] = default
    st.session_state[_OWNER + name] = (owner,)
    value = str(st.session_state[name])
    write(name, value, default)
    return value
