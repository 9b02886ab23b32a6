"""What the server loads and computes once for all users. Importing this loads only Streamlit.

PyTorch, spaCy, the model and its first run take seconds. The command `headlight` loads them at startup; if
the server is started in another way, the first visitor sees the page's frame and waits for the rest. What
the other pages show first is computed while the first visitor looks at the start page.
"""

from __future__ import annotations

import gc
import importlib
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.runtime import Runtime, RuntimeState

if TYPE_CHECKING:
    from viz.session import ModelChoice

LOOK_EVERY = 0.5
"""Seconds between two looks for a first visitor."""
FIRST_PAGE_SECONDS = 2.0
"""Time in which the first visitor's page is drawn undisturbed."""
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
    """Import what the pages need, and put the first run into the cache of all users."""
    import_pages()
    from transformer.errors import CheckpointError, SentenceError
    from viz.session import run_of
    from viz.text_session import DEFAULT_SENTENCE

    with suppress(CheckpointError, SentenceError):  # the page says why
        run_of(_first_choice(), DEFAULT_SENTENCE)


def import_pages() -> None:
    """Import what the pages need: two visitors who import a module simultaneously can see it half loaded."""
    import pandas  # noqa: F401
    import plotly.graph_objs  # noqa: F401

    from viz.page_titles import PAGES
    from viz.pages.learn.lessons import lessons

    for path in sorted(PAGES.rglob("*.py")):
        if path.stem not in ("page", "__init__"):  # a page is a script that draws
            importlib.import_module(".".join(path.relative_to(PAGES.parents[1]).with_suffix("").parts))
    lessons()


def warm_up_pages() -> None:
    """Start a thread that runs `prepare_pages` once the first visitor has their page."""
    threading.Thread(target=_after_the_first_page, name="warm up", daemon=True).start()


def _after_the_first_page() -> None:
    while not (Runtime.exists() and Runtime.instance().state is RuntimeState.ONE_OR_MORE_SESSIONS_CONNECTED):
        time.sleep(LOOK_EVERY)
    time.sleep(FIRST_PAGE_SECONDS)
    prepare_pages()


@st.cache_resource(show_spinner=False)  # so that nothing it calls draws a spinner
def prepare_pages() -> None:
    """Compute what all visitors of the other pages see first, where it takes a tenth of a second or more."""
    from transformer.errors import CheckpointError, SentenceError
    from viz.pages.checkpoint.session import shipped_diagnosis
    from viz.pages.decode.session import first_search, tree_of
    from viz.pages.lab.session import prepare_first_mistake
    from viz.session import RunKey, twin_run
    from viz.text_session import DEFAULT_SENTENCE

    key = RunKey(_first_choice(), DEFAULT_SENTENCE, "")
    with suppress(CheckpointError, SentenceError):
        tree_of(first_search(key.choice, key.text))
        prepare_first_mistake(key)
        shipped_diagnosis(key.choice.name)
        twin_run(*key, seed=0, norm_position="pre")
        twin_run(*key, seed=0, norm_position="post")


def _first_choice() -> ModelChoice:
    """The model that a visitor sees first."""
    from transformer.checkpoints.places import default_model
    from transformer.device import available_devices
    from viz.session import ModelChoice

    return ModelChoice(name=default_model(), random=None, device=available_devices()[0])


def settle() -> None:
    """Exclude everything loaded so far from garbage collection, and start collecting.

    Streamlit collects garbage after every run of a page. All that PyTorch, spaCy and others have loaded stays
    in memory anyway, and searching it takes as long as drawing the page.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
