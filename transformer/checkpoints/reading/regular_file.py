"""A file that is read and nothing else: regular, its size known, every read inside it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from transformer.errors import CheckpointError, shown

CHUNK = 2**20
_LONGEST_SHOWN = 80


class RegularFile:
    """An open file of a checkpoint.

    Attributes:
        path: where it lies.
        size: in bytes.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.size = os.fstat(file.fileno()).st_size
        self._file = file

    def read(self, offset: int, n_bytes: int) -> bytes:
        """Read so many bytes, all of them.

        Raises:
            CheckpointError: when they are not all there.
        """
        if offset < 0 or n_bytes < 0 or offset + n_bytes > self.size:
            raise CheckpointError("is cut off or damaged: copy or download it again.")
        self._file.seek(offset)
        found = self._file.read(n_bytes)
        if len(found) != n_bytes:
            raise CheckpointError("became shorter while it was read: wait until it is there as a whole.")
        return found

    def chunks(self, offset: int, n_bytes: int) -> Iterator[bytes]:
        """Read so many bytes, a MiB at a time.

        Raises:
            CheckpointError: when they are not all there.
        """
        for start in range(offset, offset + n_bytes, CHUNK):
            yield self.read(start, min(CHUNK, offset + n_bytes - start))

    def copy(self, offset: int, n_bytes: int, out: BinaryIO) -> None:
        """Copy so many bytes to the end of another file; by the system alone, where it knows how.

        Raises:
            CheckpointError: when they are not all there.
            OSError: when they can't be written.
        """
        out.flush()
        copied = self._copy_by_system(offset, n_bytes, out)
        out.seek(0, os.SEEK_END)
        for chunk in self.chunks(offset + copied, n_bytes - copied):
            out.write(chunk)

    def _copy_by_system(self, offset: int, n_bytes: int, out: BinaryIO) -> int:
        """How many of the bytes it copied: all of them, or as many as it could."""
        copied = 0
        while copied < n_bytes:
            try:
                more = os.copy_file_range(
                    self._file.fileno(), out.fileno(), n_bytes - copied, offset + copied
                )
            except (AttributeError, OSError):  # a system without it, or files that it can't do this for
                break
            if not more:
                break
            copied += more
        return copied


@contextmanager
def open_regular_file(path: Path) -> Iterator[RegularFile]:
    """Open a regular file; pipes and devices are refused unread.

    Raises:
        CheckpointError: when it is missing, is no regular file, or may not be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise CheckpointError("is no regular file: choose a file or a folder of files.")
        file = path.open("rb")
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise CheckpointError(f"is not there: check the path {shown(str(path))}.") from error
        raise CheckpointError(f"can't be read ({error.strerror}): check that you may read it.") from error
    with file:
        yield RegularFile(path, file)


def named(path: Path) -> str:
    """The name of a file as it may begin a message."""
    name = path.name or str(path)
    return name if name.isprintable() and len(name) <= _LONGEST_SHOWN else shown(name)
