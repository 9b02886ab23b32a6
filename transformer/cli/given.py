"""What a command is given: a model by name or path, and text as it was typed."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import torch

from transformer.checkpoints.importing.report import ImportReport
from transformer.checkpoints.opening import open_model
from transformer.cli.options import answered
from transformer.loaded import LoadedModel

_UNREAD = re.compile("[\udc80-\udcff]+")
"""Bytes of a command that are no characters in the locale, as Python hands them on."""


def opened(model: str, answers: Sequence[Sequence[str]], device: torch.device) -> LoadedModel:
    """Anyone's model; what its files don't tell and nobody answers is assumed, and said so.

    Raises:
        CheckpointError: for a model that can't be opened.
        CommandError: for answers that are none.
    """

    def tell(report: ImportReport) -> None:
        for setting in report.settings:
            if setting.source == "assumed":
                print(f"Assumed: {setting.name} is {setting.value} ({setting.why}).", file=sys.stderr)

    return open_model(model, device, answers=answered(answers), on_report=tell)


def typed(text: str) -> str:
    """A text of the command line as UTF-8, whatever the locale."""
    return _UNREAD.sub(_read, text)


def _read(unread: re.Match[str]) -> str:
    return unread[0].encode(errors="surrogateescape").decode(errors="replace")
