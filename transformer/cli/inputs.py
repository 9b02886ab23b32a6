"""Reads the inputs of commands: a model by name or path, and text from the command line."""

from __future__ import annotations

import re
import sys

import torch

from transformer.checkpoints.importing.report import ADAPTER, LEFT_OUT, ImportReport
from transformer.checkpoints.opening import open_model
from transformer.cli.options import CheckpointOptions, parse_answers, read_mapping
from transformer.loaded import LoadedModel

_UNDECODED = re.compile("[\udc80-\udcff]+")
"""Bytes that Python could not decode with the locale's encoding."""


def open_with_answers(model: str, options: CheckpointOptions, device: torch.device) -> LoadedModel:
    """Open any model, printing the settings that had to be assumed.

    Raises:
        CheckpointError: for a model or a mapping file that can't be opened.
        CommandError: for malformed answers.
    """

    def print_assumed(report: ImportReport) -> None:
        for setting in report.settings:
            if setting.source == "assumed" and setting.name not in (LEFT_OUT, ADAPTER):  # see cautions
                print(f"Assumed: {setting.name} is {setting.value} ({setting.why}).", file=sys.stderr)
        for caution in report.cautions:
            print(f"Caution: {caution}", file=sys.stderr)

    return open_model(
        model,
        device,
        answers=parse_answers(options.answers),
        mapping=read_mapping(options.map),
        on_report=print_assumed,
    )


def as_utf8(argument: str) -> str:
    """A command-line argument decoded as UTF-8, whatever the locale."""
    return _UNDECODED.sub(_decode, argument)


def _decode(match: re.Match[str]) -> str:
    return match[0].encode(errors="surrogateescape").decode(errors="replace")
