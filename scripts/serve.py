"""Start Headlight's server, as `streamlit run app.py` does, and load the model while the browser opens."""

from __future__ import annotations

import sys
import threading
import time

from streamlit import runtime
from streamlit.runtime import RuntimeState
from streamlit.web import cli

from viz.warm_up import settle, warm_up

LOOK_EVERY = 0.02
"""Seconds between two looks whether the server is up."""
SETTLE_AFTER = 2.0
"""Seconds that the first page has to itself."""


def main() -> None:
    """Serve until the process is stopped; arguments are those of `streamlit run`, without the script."""
    threading.Thread(target=_load, daemon=True, name="warm-up").start()
    sys.exit(cli.main(["run", "app.py", *sys.argv[1:]]))


def _load() -> None:
    """Begin when the server listens: importing at the same time would make it answer later."""
    while not runtime.exists() or runtime.get_instance().state is RuntimeState.INITIAL:
        time.sleep(LOOK_EVERY)
    warm_up()
    time.sleep(SETTLE_AFTER)
    settle()


if __name__ == "__main__":
    main()
