"""From the words of a command line to the command, and from what went wrong to a sentence."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import tyro

from transformer.cli.command import CommandError, program
from transformer.cli.evaluate import Evaluate, run_evaluation
from transformer.cli.inspect import Inspect, run_inspection
from transformer.cli.output import drop_output, flush_output, is_lack_of_room, write_utf8
from transformer.cli.trace import WritePage, WriteTrace, run_tracing
from transformer.cli.train import run_train
from transformer.cli.train_options import Train
from transformer.cli.translate import Translate, run_translation
from transformer.device import DeviceError
from transformer.errors import CheckpointError, SentenceError

Commands = (
    Annotated[Train, tyro.conf.subcommand("train", prefix_name=False)]
    | Annotated[Translate, tyro.conf.subcommand("translate", prefix_name=False)]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate", prefix_name=False)]
    | Annotated[Inspect, tyro.conf.subcommand("inspect", prefix_name=False)]
    | Annotated[WriteTrace, tyro.conf.subcommand("trace", prefix_name=False)]
)


def run_command(arguments: Sequence[str], write_page: WritePage) -> int:
    """Run a command; returns the exit status, 1 for what can't be done.

    Args:
        arguments: the words after the program's name.
        write_page: writes a run as a page; pages are made of what stands above this package.
    """
    write_utf8()
    try:
        try:
            return _run(arguments, write_page)
        finally:
            flush_output()  # what the buffer holds fails here or, where nobody catches it, at the exit
    except (CommandError, CheckpointError, DeviceError, SentenceError) as error:
        print(error, file=sys.stderr)
    except BrokenPipeError:  # whoever read the output has seen enough
        drop_output()
    except OSError as error:
        if not is_lack_of_room(error):
            raise
        drop_output()
        print(
            f"Nothing more can be written ({error.strerror}): make room, or send the output elsewhere.",
            file=sys.stderr,
        )
    return 1


def _run(arguments: Sequence[str], write_page: WritePage) -> int:
    if arguments and arguments[0] == "train":
        return run_train(arguments[1:])
    command: Train | Translate | Evaluate | Inspect | WriteTrace = tyro.cli(
        Commands, prog=program(), args=arguments
    )
    assert not isinstance(command, Train)
    if isinstance(command, WriteTrace):
        return run_tracing(command, write_page)
    if isinstance(command, Inspect):
        return run_inspection(command)
    return run_evaluation(command) if isinstance(command, Evaluate) else run_translation(command)
