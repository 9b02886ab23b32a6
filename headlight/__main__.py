"""The command `headlight`: opens the app, or runs one of the commands of `python -m transformer`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

HELP = """\
headlight                        open the app in the browser
headlight --server.port 8600     the same; options are those of `streamlit run`
headlight serve --workers 4      serve many people: several processes, with HAProxy in front
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if list(arguments) in (["--help"], ["-h"]):
        print(HELP)
        return 0
    if arguments and arguments[0] == "serve":
        from headlight.serving.command import serve

        return serve(arguments[1:])
    if arguments and not arguments[0].startswith("-"):
        from transformer.__main__ import main as run_command

        return run_command(arguments)
    from headlight.serving.app import run_app

    run_app(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
