"""Standard output: its encoding, and its end, when nothing more can be written to it."""

from __future__ import annotations

import errno
import io
import os
import sys

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_utf8() -> None:
    """Write UTF-8 whatever the locale, as sentences are read: a translation has the same bytes everywhere.

    What UTF-8 can't hold (half of a pair of surrogates) is written as an escape.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def flush_output() -> None:
    """Write what is still in the buffer; standard output may be closed."""
    if sys.stdout is not None:
        sys.stdout.flush()


def drop_output() -> None:
    """Let what is still in the buffer go, so that the end of the program doesn't fail to write it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_lack_of_room(error: OSError) -> bool:
    """Whether it says that a disk is full, or a quota or the largest size of a file reached."""
    return error.errno in _NO_ROOM
