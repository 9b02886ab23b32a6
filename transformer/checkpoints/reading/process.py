"""Reads a checkpoint in a short-lived process with limits on memory and time."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformer.checkpoints.reading.limits import LOCAL_LIMITS, Limits
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.checkpoints.reading.regular_file import named
from transformer.errors import CheckpointError
from transformer.files import CODE


def read_checkpoint(
    path: Path, limits: Limits = LOCAL_LIMITS, folder: Path | None = None, *, wanted: str = ""
) -> RawCheckpoint:
    """Read a checkpoint's headers and small files, and with a folder also its tensor data.

    Args:
        path: a weights file or a model folder.
        limits: files that exceed these are refused.
        folder: an empty folder, which must exist as long as the tensors are used: the reading process copies
            the validated tensor data there. Without it the data stays in the original file, not validated.
        wanted: which set of weights to take where a file has several; see RawCheckpoint.choices.

    Raises:
        CheckpointError: says what is wrong and what to do; there is no less strict fallback.
    """
    path = path.absolute()
    task = {
        "path": str(path),
        "folder": None if folder is None else str(folder.absolute()),
        "limits": asdict(limits),
        "wanted": wanted.strip().lower(),
    }
    answer = _ask(task, limits.seconds, path)
    refused = answer.get("refused")
    if refused is not None:
        raise CheckpointError(str(refused))
    return RawCheckpoint.from_plain(answer["checkpoint"])


def _ask(task: dict[str, Any], seconds: float, path: Path) -> dict[str, Any]:
    """Run the reading process; any failure of it becomes a CheckpointError."""
    try:
        done = subprocess.run(
            [sys.executable, "-E", "-s", "-S", "-m", "transformer.checkpoints.reading"],
            input=json.dumps(task).encode(),
            capture_output=True,
            cwd=CODE,
            timeout=seconds,
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise CheckpointError(
            f"{named(path)} took more than {seconds:g} s to read, longer than is allowed: copy it to a "
            "faster disk, or choose a smaller one."
        ) from error
    except ValueError as error:
        raise CheckpointError(
            f"{named(path)} could not be read: the reading process ended with status "
            f"{done.returncode}, perhaps for lack of memory or time. Copy or save the file again."
        ) from error
    except OSError as error:
        raise CheckpointError(
            f"{named(path)} can't be read, because no process to read it could start ({error.strerror}): "
            "close other programs and try again."
        ) from error
    return answer
