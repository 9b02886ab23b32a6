"""What a training asks of the C library's memory."""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4


def keep_freed_memory() -> None:
    """Let this process keep the memory that it frees, for its next tensors (Linux's C library only).

    By default every large tensor is fetched from the system, page by page, and given back: on a CPU a third
    of a training step went there.
    """
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):
            library.mallopt(_M_MMAP_MAX, 0)
            library.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
