"""The process that reads a checkpoint, using only the standard library.

`python -m transformer.checkpoints.reading` takes {"path", "folder", "limits", "wanted"} as JSON on standard
input and writes {"checkpoint": ...} or {"refused": sentence}. With a folder, the tensor data is copied there.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer.checkpoints.reading.contents import read_contents, to_checkpoint
from transformer.checkpoints.reading.limits import Limits, limit_process
from transformer.checkpoints.reading.regular_file import named
from transformer.errors import CheckpointError

_FORBIDDEN = (
    "socket.",
    "subprocess.",
    "os.",
    "ctypes.",
    "shutil.",
    "import",
    "exec",
    "compile",
    "pickle.",
    "marshal.",
)
_ALLOWED = ("os.listdir", "os.scandir")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def answer(path: Path, folder: Path | None, limits: Limits, wanted: str = "") -> str:
    """Read a checkpoint and copy its tensor data into `folder` if given; return it, or the refusal, as JSON.

    The JSON is built completely before it is sent, so this process's memory limit bounds its size.
    """
    try:
        checkpoint = to_checkpoint(read_contents(path, limits, wanted), folder)
        return json.dumps({"checkpoint": checkpoint.to_plain()})
    except CheckpointError as error:
        refused = str(error)
    except (MemoryError, RecursionError):
        refused = (
            f"{named(path)} takes more than {limits.memory_bytes // 2**20:,} MiB of memory to read, more "
            "than any checkpoint should: copy or save it again."
        )
    except OSError as error:
        refused = (
            f"{named(path)} can't be read or copied ({error.strerror}): check that you may read it and that "
            "the disk has room."
        )
    return json.dumps({"refused": refused})


def take_limits(limits: Limits, folder: Path | None) -> None:
    """Apply the resource limits to this process."""
    most = {"AS": limits.memory_bytes, "CPU": int(limits.seconds) + 1, "NOFILE": 64, "CORE": 0}
    if folder is None:
        most["FSIZE"] = 0
    elif limits.max_file_bytes is not None:
        most["FSIZE"] = 2 * limits.max_file_bytes
    limit_process(most)


def stay_inside(folder: Path | None) -> None:
    """Forbid imports, new processes, connections, and writing outside `folder` from now on.

    The readers do none of this; the audit hook contains a bug in one of them.
    """

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            _check_open(args, folder)
        elif event.startswith(_FORBIDDEN) and event not in _ALLOWED:
            raise PermissionError(1, f"{event} is not allowed here")

    sys.addaudithook(watch)


def _check_open(args: tuple[Any, ...], folder: Path | None) -> None:
    path, _, flags = args
    if flags & _WRITING and (folder is None or Path(path).parent != folder):
        raise PermissionError(1, "writing is not allowed here")


def main() -> None:
    """Set the limits, then read the checkpoint."""
    task: Mapping[str, Any] = json.load(sys.stdin)
    limits = Limits(**task["limits"])
    folder = None if task["folder"] is None else Path(task["folder"])
    take_limits(limits, folder)
    stay_inside(folder)
    sys.stdout.write(answer(Path(task["path"]), folder, limits, task["wanted"]))


if __name__ == "__main__":
    main()
