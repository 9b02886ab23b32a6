"""What the server loads once, for everybody, before its first page. Importing this module loads nothing.

PyTorch, spaCy, the model and its first run take seconds. `scripts.serve` begins with them; where the server
is started in another way, whoever comes first sees the page's frame, and waits for the rest.
"""

from __future__ import annotations

import gc
import importlib
import threading

FIRST_PAGE = "viz.first_page"
_lock = threading.Lock()
_warm = threading.Event()


def is_warm() -> bool:
    """Whether all is there that the first page needs."""
    return _warm.is_set()


def warm_up() -> None:
    """Load what the first page needs, once in a process; who calls this meanwhile waits for it."""
    with _lock:
        if not is_warm():
            importlib.import_module(FIRST_PAGE).prepare()
            _warm.set()


def settle() -> None:
    """Take all that is loaded out of Python's search for garbage, and begin to search.

    After every run of a page Streamlit has Python search its whole memory. What PyTorch, spaCy and the others
    have loaded stays anyway, and looking through it takes as long as drawing the page.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
