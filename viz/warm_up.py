"""What the server loads once, for all users, before its first page. Importing this loads only Streamlit.

PyTorch, spaCy, the model and its first run take seconds. The command `headlight` begins with them; where the
server is started in another way, the first visitor sees the page's frame, and waits for the rest.
"""

from __future__ import annotations

import gc
import threading
from contextlib import suppress

import streamlit as st

_lock = threading.Lock()
_warm = threading.Event()


def is_warm() -> bool:
    """Whether everything is there that the first page needs."""
    return _warm.is_set()


def warm_up() -> None:
    """Load what the first page needs, once in a process; concurrent callers wait for it."""
    with _lock:
        if not is_warm():
            prepare()
            _warm.set()


@st.cache_resource(show_spinner=False)  # nor does what it calls then draw a spinner
def prepare() -> None:
    """Import what the start page needs, and have its first run in the cache of all users.

    Imported here, once: two visitors whose pages import a module at the same moment can meet half of it.
    """
    import pandas  # noqa: F401
    import plotly.graph_objs  # noqa: F401

    import viz.pages.explore.attention
    import viz.pages.explore.in_and_out
    import viz.pages.learn.session
    import viz.pages.shared.sentence
    import viz.pages.sidebar
    import viz.pages.training.note  # noqa: F401
    from transformer.checkpoints.places import default_model
    from transformer.device import available_devices
    from transformer.errors import CheckpointError, SentenceError
    from viz.pages.learn.lessons import lessons
    from viz.session import ModelChoice, run_of
    from viz.text_session import DEFAULT_SENTENCE

    lessons()
    choice = ModelChoice(name=default_model(), random=None, device=available_devices()[0])
    with suppress(CheckpointError, SentenceError):  # the page will say why
        run_of(choice, DEFAULT_SENTENCE)


def settle() -> None:
    """Take all that is loaded out of Python's search for garbage, and begin to search.

    After every run of a page Streamlit has Python search its whole memory. What PyTorch, spaCy and the others
    have loaded stays anyway, and looking through it takes as long as drawing the page.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
