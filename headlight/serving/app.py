"""The app in this process: load everything that its pages need, then serve it with Streamlit."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_APP = next(path for path in (_PACKAGE / "app.py", _PACKAGE.parent / "app.py") if path.exists())
"""Inside the package if it is installed, next to it in a checkout."""

_M_ARENA_MAX = -8
"""The number of the setting in glibc's malloc.h."""


def run_app(options: Sequence[str]) -> None:
    """Load everything and serve the app until the process ends; options are those of `streamlit run`.

    Everything is imported before the browser opens: otherwise the first page would wait for PyTorch and
    compete with it for the processor.
    """
    # Make PyTorch's waiting threads sleep: spinning, they would take the cores from the browser.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    print("Loading PyTorch and the model …", flush=True)
    gc.disable()  # nothing loaded here is garbage; collecting meanwhile takes a second
    limit_arenas()
    from viz.warm_up import settle, warm_up, warm_up_pages

    warm_up()
    settle()
    warm_up_pages()
    run_streamlit(options)


def load_for_forks() -> None:
    """Load what all forks of this process share, and compute what all visitors see first.

    A GPU can't be used in a process and in its forks: where there is one, each fork opens the model itself.
    """
    gc.disable()
    limit_arenas()
    import torch

    from transformer.device import available_devices
    from viz.warm_up import import_pages, prepare_pages, settle, warm_up

    torch.set_num_threads(1)  # a fork of a process with threads may hang
    if available_devices() == ["cpu"]:
        warm_up()
        prepare_pages()
    else:
        import_pages()
    import streamlit.web.bootstrap  # noqa: F401

    settle()


def run_fork(options: Sequence[str], n_threads: int) -> None:
    """Serve the app in a fork of a process that called `load_for_forks`."""
    import torch

    from viz.warm_up import warm_up

    torch.set_num_threads(n_threads)
    torch.seed()  # forks would all draw the same
    warm_up()
    run_streamlit(options)


def limit_arenas() -> None:
    """Have all threads take their memory from two arenas, where the C library is glibc.

    Every run of a page is a thread. With eight arenas per core, each is left with gaps of its own: the memory
    of a process grows for hours although what it keeps does not.
    """
    with suppress(OSError, TypeError, AttributeError):  # other systems, other libraries
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def run_streamlit(options: Sequence[str]) -> None:
    """Serve the app with `streamlit run`, which ends the process."""
    from streamlit.web import cli

    with suppress(ImportError):  # Unix only
        import resource

        # Each connection is an open file, and systems allow only 1024 until a process asks for more.
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    cli.main(["run", str(_APP), *options], prog_name="streamlit")
