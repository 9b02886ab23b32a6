"""Numbers are copied completely, by the system or in Python, and never beyond their file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from transformer.checkpoints.reading.regular_file import open_regular_file
from transformer.errors import CheckpointError

CONTENT = bytes(range(256)) * 31


def copied(path: Path, target: Path, offset: int, n_bytes: int) -> bytes:
    with open_regular_file(path) as file, target.open("xb") as out:
        out.write(b"head")
        file.copy(offset, n_bytes, out)
        out.write(b"tail")
    return target.read_bytes()


@pytest.mark.parametrize("most", [None, 0, 1000], ids=["by the system", "by hand", "by both"])
def test_bytes_are_copied_after_those_that_are_there(
    most: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_system = os.copy_file_range

    def limited(source: int, target: int, count: int, offset: int) -> int:
        if not most or offset > 999:
            raise OSError("not for these files")
        return by_system(source, target, min(count, most), offset)

    if most is not None:
        monkeypatch.setattr(os, "copy_file_range", limited)
    (tmp_path / "file").write_bytes(CONTENT)
    found = copied(tmp_path / "file", tmp_path / "copy", 300, 5000)
    assert found == b"head" + CONTENT[300:5300] + b"tail"


def test_nothing_is_copied_from_beyond_the_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(CONTENT)
    with pytest.raises(CheckpointError, match="cut off"):
        copied(tmp_path / "file", tmp_path / "copy", 300, len(CONTENT))
