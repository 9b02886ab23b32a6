"""Parses a command line, runs the command, and prints errors as messages."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import tyro

from transformer.checkpoints.places import default_model
from transformer.checkpoints.survey import check_checkpoint
from transformer.cli.command import CommandError, check_search, program
from transformer.cli.options import (
    Align,
    Analyze,
    Evaluate,
    Inspect,
    Translate,
    Why,
    WriteTrace,
    parse_answers,
    read_mapping,
)
from transformer.cli.output import drop_output, flush_output, is_lack_of_room, write_utf8
from transformer.device import DeviceError
from transformer.errors import CheckpointError, EditError, SentenceError

if TYPE_CHECKING:
    from transformer.cli.trace import WritePage

_Command: TypeAlias = Translate | Evaluate | Inspect | WriteTrace | Why | Align | Analyze
_Options = (
    Annotated[Translate, tyro.conf.subcommand("translate", prefix_name=False)]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate", prefix_name=False)]
    | Annotated[Inspect, tyro.conf.subcommand("inspect", prefix_name=False)]
    | Annotated[WriteTrace, tyro.conf.subcommand("trace", prefix_name=False)]
    | Annotated[Why, tyro.conf.subcommand("why", prefix_name=False)]
    | Annotated[Align, tyro.conf.subcommand("align", prefix_name=False)]
    | Annotated[Analyze, tyro.conf.subcommand("analyze", prefix_name=False)]
)
_NAMES = ("translate", "evaluate", "inspect", "trace", "why", "align", "analyze")


def run_command(arguments: Sequence[str], write_page: WritePage) -> int:
    """Run a command; returns the exit status, 1 for an error.

    Args:
        arguments: the command line after the program's name.
        write_page: writes a run as a page; passed in, because a higher-level package makes pages.
    """
    write_utf8()
    try:
        try:
            return _run(arguments, write_page)
        finally:
            flush_output()  # so that a write error is caught here, not at exit
    except (CommandError, CheckpointError, DeviceError, EditError, SentenceError) as error:
        print(error, file=sys.stderr)
    except BrokenPipeError:  # the reader closed the pipe
        drop_output()
    except OSError as error:
        if not is_lack_of_room(error):
            raise
        drop_output()
        print(
            f"The output can't be written ({error.strerror}): free some space, or write it elsewhere.",
            file=sys.stderr,
        )
    return 1


def _run(arguments: Sequence[str], write_page: WritePage) -> int:
    """Parse the options, check the files, and only then import torch, which takes a second."""
    if arguments and arguments[0] == "train":
        from transformer.cli.train import run_train

        return run_train(arguments[1:])
    command = _parse(arguments)
    if isinstance(command, Inspect):
        from transformer.cli.inspect import run_inspection

        return run_inspection(command)
    if isinstance(command, Translate):
        check_search(command.beam, command.length_penalty, command.no_repeat)
    elif isinstance(command, Evaluate):
        check_search(command.beam, command.length_penalty)
    check_checkpoint(
        command.model or default_model(),
        parse_answers(command.checkpoint.answers),
        read_mapping(command.checkpoint.map),
    )
    if isinstance(command, Translate):
        from transformer.cli.translate import run_translation

        return run_translation(command)
    if isinstance(command, Evaluate):
        from transformer.cli.evaluate import run_evaluation

        return run_evaluation(command)
    if isinstance(command, Why):
        from transformer.cli.why import run_why

        return run_why(command)
    if isinstance(command, Align):
        from transformer.cli.align import run_alignment

        return run_alignment(command)
    if isinstance(command, Analyze):
        from transformer.cli.analyze import run_analysis

        return run_analysis(command)
    from transformer.cli.trace import run_tracing

    return run_tracing(command, write_page)


def _parse(arguments: Sequence[str]) -> _Command:
    """Parse a command's options. Only the list of all commands needs train's options, which import torch."""
    if arguments and arguments[0] in _NAMES:
        parsed: _Command = tyro.cli(_Options, prog=program(), args=arguments)
        return parsed
    from transformer.cli.train_options import Train

    command: Train | _Command = tyro.cli(
        Annotated[Train, tyro.conf.subcommand("train", prefix_name=False)] | _Options,
        prog=program(),
        args=arguments,
    )
    assert not isinstance(command, Train)
    return command
