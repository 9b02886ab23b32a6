"""From the words of a command line to the command, and from what went wrong to a sentence."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import tyro

from transformer.checkpoints.survey import check_checkpoint
from transformer.cli.command import CommandError, check_search, program
from transformer.cli.options import Evaluate, Inspect, Translate, WriteTrace, answered
from transformer.cli.output import drop_output, flush_output, is_lack_of_room, write_utf8
from transformer.device import DeviceError
from transformer.errors import CheckpointError, SentenceError

if TYPE_CHECKING:
    from transformer.cli.trace import WritePage

_Command: TypeAlias = Translate | Evaluate | Inspect | WriteTrace
_Options = (
    Annotated[Translate, tyro.conf.subcommand("translate", prefix_name=False)]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate", prefix_name=False)]
    | Annotated[Inspect, tyro.conf.subcommand("inspect", prefix_name=False)]
    | Annotated[WriteTrace, tyro.conf.subcommand("trace", prefix_name=False)]
)
_NAMES = ("translate", "evaluate", "inspect", "trace")


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
    """Read the options, look at the files, and only then import what runs the model: torch takes a second."""
    if arguments and arguments[0] == "train":
        from transformer.cli.train import run_train

        return run_train(arguments[1:])
    command = _read(arguments)
    if isinstance(command, Inspect):
        from transformer.cli.inspect import run_inspection

        return run_inspection(command)
    if isinstance(command, Translate):
        check_search(command.beam, command.length_penalty, command.no_repeat)
    elif isinstance(command, Evaluate):
        check_search(command.beam, command.length_penalty)
    check_checkpoint(command.model, answered(command.answers))
    if isinstance(command, Translate):
        from transformer.cli.translate import run_translation

        return run_translation(command)
    if isinstance(command, Evaluate):
        from transformer.cli.evaluate import run_evaluation

        return run_evaluation(command)
    from transformer.cli.trace import run_tracing

    return run_tracing(command, write_page)


def _read(arguments: Sequence[str]) -> _Command:
    """The options of a command. The list of all commands has train's too, which take torch with them."""
    if arguments and arguments[0] in _NAMES:
        found: _Command = tyro.cli(_Options, prog=program(), args=arguments)
        return found
    from transformer.cli.train_options import Train

    command: Train | _Command = tyro.cli(
        Annotated[Train, tyro.conf.subcommand("train", prefix_name=False)] | _Options,
        prog=program(),
        args=arguments,
    )
    assert not isinstance(command, Train)
    return command
