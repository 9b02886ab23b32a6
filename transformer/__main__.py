"""The command line: python -m transformer train, translate, evaluate and inspect."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from transformer.cli.command import STOPPED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status, 1 for what can't be done and 130 after Ctrl-C."""
    try:
        # Only here, for it imports torch: Ctrl-C in those seconds is to be as quiet as later.
        from transformer.cli.dispatch import run_command

        return run_command(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        return STOPPED


if __name__ == "__main__":
    sys.exit(main())
