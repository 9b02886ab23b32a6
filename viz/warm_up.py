"""What the server loads once for all users, before its first page. Importing this loads only Streamlit.

PyTorch, spaCy, the model and its first run take seconds. The command `headlight` loads them at startup; if
the server is started in another way, the first visitor sees the page's frame and waits for the rest.
"""

from __future__ import annotations

import gc
import threading
from contextlib import suppress

import streamlit as st

_lock = threading.Lock()
_warm = threading.Event()


def is_warm() -> bool:
    """True once everything that the first page needs is loaded."""
    return _warm.is_set()


def warm_up() -> None:
    """Load what the first page needs, once per process; concurrent callers wait."""
    with _lock:
        if not is_warm():
            prepare()
            _warm.set()


@st.cache_resource(show_spinner=False)  # so that nothing it calls draws a spinner
def prepare() -> None:
    """Import what the start page needs, and put its first run into the cache of all users.

    Imported once for all: two visitors whose pages import a module simultaneously can see it half loaded.
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
    with suppress(CheckpointError, SentenceError):  # the page says why
        run_of(choice, DEFAULT_SENTENCE)


def settle() -> None:
    """Exclude everything loaded so far from garbage collection, and start collecting.

    Streamlit collects garbage after every run of a page. All that PyTorch, spaCy and others have loaded stays
    in memory anyway, and searching it takes as long as drawing the page.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
