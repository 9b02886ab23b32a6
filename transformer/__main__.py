"""The command line: python -m transformer train, translate, evaluate and inspect."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import tyro

from transformer.checkpoints.folder import CheckpointError
from transformer.cli.command import STOPPED, CommandError
from transformer.cli.evaluate import Evaluate, run_evaluation
from transformer.cli.inspect import Inspect, run_inspection
from transformer.cli.train import run_train
from transformer.cli.train_options import Train
from transformer.cli.translate import Translate, run_translation
from transformer.device import DeviceError
from transformer.foreign_text.sentence_error import SentenceError

Commands = (
    Annotated[Train, tyro.conf.subcommand("train", prefix_name=False)]
    | Annotated[Translate, tyro.conf.subcommand("translate", prefix_name=False)]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate", prefix_name=False)]
    | Annotated[Inspect, tyro.conf.subcommand("inspect", prefix_name=False)]
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status, 1 for what can't be done and 130 after Ctrl-C."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if given[:1] == ["train"]:
            return run_train(given[1:])
        command: Train | Translate | Evaluate | Inspect = tyro.cli(
            Commands, prog="python -m transformer", args=given
        )
        assert not isinstance(command, Train)
        if isinstance(command, Inspect):
            return run_inspection(command)
        return run_evaluation(command) if isinstance(command, Evaluate) else run_translation(command)
    except (CommandError, CheckpointError, DeviceError, SentenceError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
