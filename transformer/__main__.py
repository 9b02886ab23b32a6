"""The command line: python -m transformer train, translate, evaluate, inspect, trace, why, analyze, align."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from transformer.cli.command import STOPPED

if TYPE_CHECKING:
    from transformer.loaded import LoadedModel
    from transformer.run import Run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0, 1 for an error, 130 after Ctrl-C."""
    try:
        # Imported here because it takes seconds, during which Ctrl-C must be handled too.
        from transformer.cli.dispatch import run_command

        return run_command(sys.argv[1:] if arguments is None else arguments, write_page)
    except KeyboardInterrupt:
        return STOPPED


def write_page(loaded: LoadedModel, run: Run, typed: tuple[str, str], path: Path) -> None:
    """Write a run as a page; passed to the command from here, because a higher-level package makes pages."""
    from headlight.pages import write_page

    write_page(loaded, run, typed[0], path, typed=typed)


if __name__ == "__main__":
    sys.exit(main())
