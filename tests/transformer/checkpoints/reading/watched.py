"""Hostile files, read under observation."""

from __future__ import annotations

import json
import re
import resource
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from tests.transformer.checkpoints.reading.crafted import Call, Name, Object, in_process, written
from transformer.checkpoints.reading.limits import MEBIBYTE, UPLOAD_LIMITS
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.checkpoints.reading.raw import RawCheckpoint

LIMITS = replace(UPLOAD_LIMITS, memory_bytes=512 * MEBIBYTE, seconds=20.0)
MOST_SECONDS = 6.0
"""Limit of processor time per file."""
MARKER = "/tmp/headlight-hostile-marker"
MOST_EXTRAS = 5_000_000
"""Limit of a file's extras, in bytes of JSON."""
INERT = ""
"""Instead of a refusal's words: the file is read and does nothing."""
OWN = Name("own", "Thing")
THING = Object(OWN)
PATH = Call(Name("pathlib", "PosixPath"), (MARKER,))
TOUCH = Call(Name("builtins", "getattr"), (PATH, "touch"))


def assert_refused_or_inert(files: Mapping[str, tuple[bytes, str]], folder: Path) -> None:
    """Read files one by one in a process that may do nothing else, each within its time limit.

    Args:
        files: name -> a file's content, and the text of its refusal or INERT.
        folder: where they are written.
    """
    for number, (content, _) in enumerate(files.values()):
        (folder / f"{number}.pt").write_bytes(content)
    code = f"""
        import time
        limits = own.Limits(**{asdict(LIMITS)!r})
        own.take_limits(own.Limits(**{asdict(replace(LIMITS, seconds=300.0))!r}), None)
        own.stay_inside(None)
        for number in range({len(files)}):
            began = time.process_time()
            told = json.loads(own.answer(Path({str(folder)!r}) / f"{{number}}.pt", None, limits))
            print(json.dumps([told, time.process_time() - began]), flush=True)
    """
    lines = in_process(code).splitlines()
    assert len(lines) == len(files)
    assert not Path(MARKER).exists()
    for (name, (_, message)), line in zip(files.items(), lines, strict=True):
        told, took = json.loads(line)
        assert took < MOST_SECONDS, name
        if message == INERT:
            raw = RawCheckpoint.from_plain(told["checkpoint"])
            assert {key.rpartition(".")[2] for key in raw.tensors} <= {"w", "b"}, name
            assert len(json.dumps(raw.extras)) < MOST_EXTRAS, name
        else:
            assert re.search(message, told["refused"]), (name, told)
            assert re.fullmatch(r"\d+\.pt .+", told["refused"].rstrip(").")), (name, "on one line")
            assert len(told["refused"]) < 500, name


def read_soon(content: bytes, tmp_path: Path) -> RawCheckpoint:
    """Read a file in the reading process, within its time limit, and check that nothing was created."""
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
