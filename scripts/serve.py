"""Start Headlight's server, as `streamlit run app.py` does, when all is loaded that the first page needs."""

from __future__ import annotations

import gc
import sys

from streamlit.web import cli

from viz.warm_up import settle, warm_up


def main() -> None:
    """Serve until the process is stopped; arguments are those of `streamlit run`, without the script.

    The browser opens when the server listens: in one that is still importing PyTorch, the first page would
    wait for as long, and share the processor with it.
    """
    print("Loading PyTorch and the model …", flush=True)
    gc.disable()  # what is being loaded stays: searched for garbage meanwhile, it comes a second later
    warm_up()
    settle()
    sys.exit(cli.main(["run", "app.py", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
