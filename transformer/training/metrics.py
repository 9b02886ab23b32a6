"""Metrics of a training run as JSON lines and, if requested, for TensorBoard."""

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
    """TensorBoard is not installed."""


class MetricsLog:
    """Appends JSON lines to a file.

    A resumed run drops the lines written after its last state, because it writes them again.

    Args:
        path: the file, in an existing folder.
        keep: number of leading bytes to keep.
        step: updates so far.
        tensorboard: a folder for TensorBoard's files, or None.

    Raises:
        OSError: when the file can't be written.
        TensorBoardError: when TensorBoard is missing.
    """

    def __init__(self, path: Path, *, keep: int = 0, step: int = 0, tensorboard: Path | None = None) -> None:
        self._board = None if tensorboard is None else _open_board(tensorboard, step)
        self._file = path.open("ab", buffering=0)
        self._file.truncate(min(keep, path.stat().st_size))
        sync_folder(path.parent)

    def write(self, values: dict[str, Any]) -> None:
        """Append a line; the floats of a line with a "step" are also sent to TensorBoard."""
        plain = {name: None if _is_not_finite(value) else value for name, value in values.items()}
        line = memoryview(json.dumps(plain, ensure_ascii=False).encode() + b"\n")
        while line:
            line = line[self._file.write(line) :]
        if self._board is not None and "step" in values:
            for name, value in plain.items():
                if isinstance(value, float):
                    self._board.add_scalar(name, value, values["step"])

    def position(self) -> int:
        """Sync the file to disk; returns its length in bytes."""
        os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        if self._board is not None:
            self._board.close()


def _is_not_finite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


@dataclass(frozen=True)
class LoggedUpdate:
    """The metrics of the updates up to a step."""

    step: int
    loss: float
    learning_rate: float


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read the complete lines of a file that may be growing."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def read_updates(path: Path) -> list[LoggedUpdate]:
    """Read loss and learning rate of a run from its metrics."""
    return [
        LoggedUpdate(line["step"], line["loss"], line["learning_rate"])
        for line in read_lines(path)
        if line.get("loss")
    ]


def check_tensorboard() -> None:
    """Raises TensorBoardError if TensorBoard is not installed."""
    if find_spec("tensorboard") is None:
        raise TensorBoardError(
            "TensorBoard is not installed: pip install tensorboard, or train without --tensorboard "
            "(metrics.jsonl has the same values)."
        )


def _open_board(folder: Path, step: int) -> SummaryWriter:
    check_tensorboard()
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=step + 1)
