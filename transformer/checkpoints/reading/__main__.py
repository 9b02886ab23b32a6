"""The process that reads a checkpoint, with the standard library alone.

`python -m transformer.checkpoints.reading` reads {"path", "folder", "limits"} as JSON from its
standard input and writes {"table": ...} or {"refused":
sentence}. With a folder, the tensors' numbers are copied into it.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

from transformer.checkpoints._files import CheckpointError
from transformer.checkpoints.reading.contents import read_contents
from transformer.checkpoints.reading.limits import Limits
from transformer.checkpoints.reading.table import copy_blocks, to_table

_OPEN_FILES = 64


def answer(task: dict[str, Any]) -> dict[str, Any]:
    """Do what is asked for."""
    try:
        contents = read_contents(Path(task["path"]), Limits(**task["limits"]))
        places = None if task["folder"] is None else copy_blocks(contents, Path(task["folder"]))
        return {"table": to_table(contents, places)}
    except CheckpointError as error:
        return {"refused": str(error)}
    except OSError as error:
        return {"refused": f"It can't be copied or read ({error.strerror}): make room on the disk."}


def _limit(kind: int, most: int) -> None:
    try:
        resource.setrlimit(kind, (most, most))
    except (OSError, ValueError):  # a system that does not know this one, or has a lower one already
        return


def main() -> None:
    """Take limits of memory and time, then read."""
    task = json.load(sys.stdin)
    _limit(resource.RLIMIT_AS, task["limits"]["memory_bytes"])
    _limit(resource.RLIMIT_CPU, int(task["limits"]["seconds"]) + 1)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _limit(resource.RLIMIT_CORE, 0)
    if task["folder"] is None:
        _limit(resource.RLIMIT_FSIZE, 0)
    json.dump(answer(task), sys.stdout)


if __name__ == "__main__":
    main()
