"""The command `headlight`: opens the app, or runs one of the commands of `python -m transformer`."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

HELP = """\
headlight                        open the app in the browser
headlight --server.port 8600     the same; options are those of `streamlit run`
headlight translate SENTENCE     print a translation
headlight inspect PATH           say what a checkpoint is, and what is wrong with it
headlight trace --source SENTENCE --out FILE
                                 write every tensor of a run, and a page of it
headlight why SENTENCE           say which heads, or which words, an output word depends on
headlight analyze --pairs FILE --out DIR
                                 say what every head does, over a file of sentences
headlight align --pairs FILE     link the words of sentences and their translations
headlight evaluate               score a model on sentence pairs
headlight train                  train a model

headlight COMMAND --help         all options of a command"""
_HERE = Path(__file__).resolve().parent
_APP = next(path for path in (_HERE / "app.py", _HERE.parent / "app.py") if path.exists())
"""Inside the package if it is installed, next to it in a checkout."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if list(arguments) in (["--help"], ["-h"]):
        print(HELP)
        return 0
    if arguments and not arguments[0].startswith("-"):
        from transformer.__main__ import main as run_command

        return run_command(arguments)
    serve(arguments)
    return 0


def serve(options: Sequence[str]) -> None:
    """Serve the app, then end the process; options are those of `streamlit run`.

    Everything is imported before the browser opens: otherwise the first page would wait for PyTorch and
    compete with it for the processor.
    """
    # Make PyTorch's waiting threads sleep: spinning, they would take the cores from the browser.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    print("Loading PyTorch and the model …", flush=True)
    gc.disable()  # nothing loaded here is garbage; collecting meanwhile takes a second
    from streamlit.web import cli

    from viz.warm_up import settle, warm_up, warm_up_pages

    warm_up()
    settle()
    warm_up_pages()
    cli.main(["run", str(_APP), *options], prog_name="streamlit")


if __name__ == "__main__":
    sys.exit(main())
