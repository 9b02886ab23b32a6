"""Bounds-checked sequential reading of a pickle's bytes."""

from __future__ import annotations

import struct
from typing import Any

from transformer.errors import CheckpointError

DAMAGED = "has a damaged pickle: copy or download it again."


class EndsEarlyError(CheckpointError):
    """A pickle that ends too early."""


class PickleBytes:
    """A reading position in a pickle.

    Attributes:
        at: offset of the next byte.

    Every method that reads raises EndsEarlyError when too few bytes are left.
    """

    def __init__(self, content: bytes, start: int) -> None:
        self.at = start
        self._content = content
        self._start = start

    @property
    def n_read(self) -> int:
        """Number of bytes read so far."""
        return self.at - self._start

    @property
    def n_left(self) -> int:
        """Number of bytes left."""
        return len(self._content) - self.at

    def take(self, n_bytes: int) -> bytes:
        """Read `n_bytes` bytes."""
        found = self._content[self.at : self.at + n_bytes]
        if len(found) != n_bytes:
            raise EndsEarlyError(DAMAGED)
        self.at += n_bytes
        return found

    def byte(self) -> int:
        """Read one byte."""
        if self.at >= len(self._content):
            raise EndsEarlyError(DAMAGED)
        self.at += 1
        return self._content[self.at - 1]

    def number(self, code: str) -> Any:
        """Read a number in a `struct` format."""
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def line(self) -> str:
        """Read a line of text, without the line break."""
        end = self._content.find(b"\n", self.at)
        if end < 0:
            raise EndsEarlyError(DAMAGED)
        line = self.take(end - self.at)
        self.at = end + 1
        return as_text(line)


def as_text(content: bytes) -> str:
    """Decode text.

    Raises:
        CheckpointError: when it is not UTF-8.
    """
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CheckpointError("has text in its pickle that is no UTF-8: save it again.") from error
