"""The figures of a training run as lines of JSON, and as TensorBoard's files where that is asked for."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer.files import sync_folder

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class TensorBoardError(ImportError):
    """TensorBoard was asked for and is not installed; the message says how to get it."""


class MetricsLog:
    """A file that only grows: a line of JSON for every thing worth keeping.

    A run that died resumes from its last state: lines that were written after it are dropped, for they
    come again.

    Args:
        path: of the file; its folder exists.
        keep: bytes of it that are kept; 0 keeps none.
        tensorboard: a folder for TensorBoard's files, or None.

    Raises:
        OSError: when the file can't be written.
        TensorBoardError: when TensorBoard is wanted and missing.
    """

    def __init__(self, path: Path, *, keep: int = 0, step: int = 0, tensorboard: Path | None = None) -> None:
        self._board = None if tensorboard is None else _open_board(tensorboard, step)
        self._file = path.open("ab", buffering=0)
        self._file.truncate(min(keep, path.stat().st_size))
        sync_folder(path.parent)

    def write(self, values: dict[str, Any]) -> None:
        """Append a line; numbers of a line with a "step" are drawn in TensorBoard too."""
        kept = {name: None if _is_no_number(value) else value for name, value in values.items()}
        line = memoryview(json.dumps(kept, ensure_ascii=False).encode() + b"\n")
        while line:
            line = line[self._file.write(line) :]
        if self._board is not None and "step" in values:
            for name, value in kept.items():
                if isinstance(value, float):
                    self._board.add_scalar(name, value, values["step"])

    def position(self) -> int:
        """The length of the file in bytes, all of them on the disk."""
        os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        if self._board is not None:
            self._board.close()


def _is_no_number(value: object) -> bool:
    """Whether it is a float that JSON has no word for."""
    return isinstance(value, float) and not math.isfinite(value)


@dataclass(frozen=True)
class LoggedUpdate:
    """What a line says of the updates up to a step."""

    step: int
    loss: float
    learning_rate: float


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a file that may be growing: one that is still being written is left out."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def read_updates(path: Path) -> list[LoggedUpdate]:
    """Read the loss and the learning rate of a training run from its metrics."""
    return [
        LoggedUpdate(line["step"], line["loss"], line["learning_rate"])
        for line in read_lines(path)
        if line.get("loss")
    ]


def check_tensorboard() -> None:
    """Raise TensorBoardError where TensorBoard is not installed."""
    if find_spec("tensorboard") is None:
        raise TensorBoardError(
            "TensorBoard is not installed: pip install tensorboard, or train without --tensorboard "
            "(metrics.jsonl holds the same figures)."
        )


def _open_board(folder: Path, step: int) -> SummaryWriter:
    check_tensorboard()
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=step + 1)
