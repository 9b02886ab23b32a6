"""The bytes of a pickle, read in order and never beyond their end."""

from __future__ import annotations

import struct
from typing import Any

from transformer.errors import CheckpointError

DAMAGED = "has a damaged pickle: copy or download it again."


class EndsEarlyError(CheckpointError):
    """A pickle that ends too early."""


class PickleBytes:
    """A position in a pickle's bytes.

    Attributes:
        at: where the next byte is.

    Each of its methods raises EndsEarlyError when there are fewer bytes than it reads.
    """

    def __init__(self, content: bytes, start: int) -> None:
        self.at = start
        self._content = content
        self._start = start

    @property
    def n_read(self) -> int:
        """How many bytes have been read."""
        return self.at - self._start

    @property
    def n_left(self) -> int:
        """How many bytes are left."""
        return len(self._content) - self.at

    def take(self, n_bytes: int) -> bytes:
        """Read this many bytes."""
        found = self._content[self.at : self.at + n_bytes]
        if len(found) != n_bytes:
            raise EndsEarlyError(DAMAGED)
        self.at += n_bytes
        return found

    def byte(self) -> int:
        """Read one."""
        if self.at >= len(self._content):
            raise EndsEarlyError(DAMAGED)
        self.at += 1
        return self._content[self.at - 1]

    def number(self, code: str) -> Any:
        """Read a number in one of the formats of `struct`."""
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def line(self) -> str:
        """Read text up to the end of its line, without the line break."""
        end = self._content.find(b"\n", self.at)
        if end < 0:
            raise EndsEarlyError(DAMAGED)
        line = self.take(end - self.at)
        self.at = end + 1
        return as_text(line)


def as_text(content: bytes) -> str:
    """Decode text.

    Raises:
        CheckpointError: when it is no UTF-8.
    """
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CheckpointError("has text in its pickle that is no UTF-8: save it again.") from error
