"""Standard output: its encoding, and failures to write to it."""

from __future__ import annotations

import errno
import io
import os
import sys

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_utf8() -> None:
    """Make standard output UTF-8 whatever the locale; lone surrogates are written as escapes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def flush_output() -> None:
    """Flush standard output, unless it is closed."""
    if sys.stdout is not None:
        sys.stdout.flush()


def drop_output() -> None:
    """Discard the buffer of standard output, so that flushing it at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_lack_of_room(error: OSError) -> bool:
    """True for a full disk, an exceeded quota or a file at its largest size."""
    return error.errno in _NO_ROOM
