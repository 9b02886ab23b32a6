"""What the address says beside the pickers: typed texts, and places that have no widget.

Streamlit itself binds a picker to the address. What it can't bind is kept under its name in the session's
state, taken from the address at the first visit, and written into it. After Back and Forward the address that
they brought back decides.
"""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from transformer.text.spelling import SURROGATES

LONGEST = 1_500
"""Bytes. Longer values stay out of the address: servers refuse addresses of more than some thousand bytes."""
_SUBJECT = "subject of "


def is_history_step() -> bool:
    """Whether the browser's Back or Forward asked for this run of the page."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def restore() -> None:
    """After Back or Forward, let every picker stand on what the address says; before any is drawn.

    Streamlit drops from it what a picker of the same name was bound to on the page that was left.
    """
    context = get_script_run_ctx()
    if context is not None and context.is_history_navigation:
        with context.session_state.query_params() as params:
            params.populate_from_query_string(context.query_string)
            params.set_initial_query_params_from_current()
            params._send_query_param_msg()


def as_typed(text: str) -> str:
    """Without lone surrogates, which neither an address nor a cache can hold."""
    return SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def is_to_be_read(name: str) -> bool:
    """Whether the address decides on a value in this run: at the first visit, and after Back or Forward."""
    return name not in st.session_state or is_history_step()


def read(name: str, default: str) -> str:
    """The value that the address says."""
    return as_typed(st.query_params.get(name, default))


def write(name: str, value: str, default: str) -> None:
    """Let the address say a value; the default and a very long one stay out of it.

    In the first run of a page the name may still be that of a picker on the page that was left.
    """
    if _is_bound(name):
        return
    if value == default or len(value.encode()) > LONGEST:
        if name in st.query_params:
            del st.query_params[name]
    elif st.query_params.get(name) != value:
        st.query_params[name] = value


def _is_bound(name: str) -> bool:
    """Whether a picker has this name in the address: nobody else may write it."""
    context = get_script_run_ctx()
    if context is None:
        return False
    with context.session_state.query_params() as params:
        return params.is_bound(name)


def whole_numbers(written: str, separator: str = ",") -> list[int]:
    """The whole numbers that a value of the address consists of; what is none is left out."""
    return [int(part) for part in written.split(separator) if part.isdecimal() and len(part) < 10]


def remember(name: str, value: str, subject: Hashable = None) -> None:
    """Put a place or setting of this user, whether or not its page has been visited; see `remembered`."""
    st.session_state[name] = value
    st.session_state[_SUBJECT + name] = (subject,)


def remembered(name: str, default: str, subject: Hashable = None) -> str:
    """A place or setting of this user; the default as soon as it belongs to something else.

    Args:
        name: of the setting, in the address too.
        default: what stays out of the address.
        subject: what the setting is of: a node belongs to its search, a prefix to its sentence and model.
    """
    known = st.session_state.get(_SUBJECT + name)
    if known is None or is_history_step():
        st.session_state[name] = read(name, default)
    elif known != (subject,):
        st.session_state[name] = default
    st.session_state[_SUBJECT + name] = (subject,)
    value = str(st.session_state[name])
    write(name, value, default)
    return value
