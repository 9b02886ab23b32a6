"""Hostile files read under watch, and what they have in common."""

from __future__ import annotations

import resource
from dataclasses import replace
from pathlib import Path

from tests.transformer.checkpoints.reading.crafted import Call, Name, Object, written
from transformer.checkpoints.reading.limits import MEBIBYTE, UPLOAD_LIMITS
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.checkpoints.reading.raw import RawCheckpoint

LIMITS = replace(UPLOAD_LIMITS, memory_bytes=512 * MEBIBYTE, seconds=20.0)
MOST_SECONDS = 6.0
"""Of the processor's time, that any of them may take."""
MARKER = "/tmp/headlight-hostile-marker"
INERT = ""
"""Stands in the place of a refusal's words for what is read and does nothing."""
OWN = Name("own", "Thing")
THING = Object(OWN)
PATH = Call(Name("pathlib", "PosixPath"), (MARKER,))
TOUCH = Call(Name("builtins", "getattr"), (PATH, "touch"))


def read_soon(content: bytes, tmp_path: Path) -> RawCheckpoint:
    """Read a file in the process that reads, within its time; what it says, and that nothing was made."""
    path, copies = written(tmp_path, content), tmp_path / "copies"
    copies.mkdir()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        return read_checkpoint(path, LIMITS, copies)
    finally:
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        assert took < MOST_SECONDS
        assert not Path(MARKER).exists()
        assert {path.name for path in copies.iterdir()} <= {"numbers.bin"}
