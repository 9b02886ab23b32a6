"""Regular files of known size, which no read can exceed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from transformer.errors import CheckpointError, shown, shown_path

CHUNK = 2**20
_LONGEST_SHOWN = 80


class RegularFile:
    """An open file of a checkpoint.

    Attributes:
        path: path of the file.
        size: size in bytes.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.size = os.fstat(file.fileno()).st_size
        self._file = file

    def read(self, offset: int, n_bytes: int) -> bytes:
        """Read exactly `n_bytes` bytes.

        Raises:
            CheckpointError: when the file has fewer.
        """
        if offset < 0 or n_bytes < 0 or offset + n_bytes > self.size:
            raise CheckpointError("is cut off or damaged: copy or download it again.")
        self._file.seek(offset)
        found = self._file.read(n_bytes)
        if len(found) != n_bytes:
            raise CheckpointError("became shorter while it was read: wait until it is there as a whole.")
        return found

    def chunks(self, offset: int, n_bytes: int) -> Iterator[bytes]:
        """Read `n_bytes` bytes, one MiB at a time.

        Raises:
            CheckpointError: when the file has fewer.
        """
        for start in range(offset, offset + n_bytes, CHUNK):
            yield self.read(start, min(CHUNK, offset + n_bytes - start))

    def copy(self, offset: int, n_bytes: int, out: BinaryIO) -> None:
        """Append `n_bytes` bytes to another file, within the kernel where possible.

        Raises:
            CheckpointError: when the file has fewer.
            OSError: when writing fails.
        """
        out.flush()
        copied = self._copy_by_system(offset, n_bytes, out)
        out.seek(0, os.SEEK_END)
        for chunk in self.chunks(offset + copied, n_bytes - copied):
            out.write(chunk)

    def _copy_by_system(self, offset: int, n_bytes: int, out: BinaryIO) -> int:
        """Copy as many bytes as the kernel can; return the number copied."""
        copied = 0
        while copied < n_bytes:
            try:
                more = os.copy_file_range(
                    self._file.fileno(), out.fileno(), n_bytes - copied, offset + copied
                )
            except (AttributeError, OSError):  # not supported by the system, or by these files
                break
            if not more:
                break
            copied += more
        return copied


@contextmanager
def open_regular_file(path: Path) -> Iterator[RegularFile]:
    """Open a regular file; pipes and devices are refused unread.

    Raises:
        CheckpointError: when it is missing, not a regular file, or not readable.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise CheckpointError("is no regular file: choose a file or a folder of files.")
        file = path.open("rb")
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise CheckpointError(f"is not there: check the path {shown_path(path)}.") from error
        raise CheckpointError(f"can't be read ({error.strerror}): check that you may read it.") from error
    with file:
        yield RegularFile(path, file)


def named(path: Path) -> str:
    """A file's name for the start of a message, quoted and shortened if necessary."""
    name = path.name or str(path)
    return name if name.isprintable() and len(name) <= _LONGEST_SHOWN else shown(name)
