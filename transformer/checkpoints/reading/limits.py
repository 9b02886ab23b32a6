"""How much of everything a checkpoint may ask for."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 2**20


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is refused before it is read.

    Attributes:
        max_file_bytes: of all files of weights together; None where any size will do.
        max_tensors: in a checkpoint.
        max_header_bytes: of what describes the tensors of one file: the head of a safetensors file, the
            directory of a zip, the pickle in it, the index of a folder.
        max_name_length: of a tensor, in characters.
        max_dimensions: of a tensor.
        max_small_file_bytes: of a folder's configuration, vocabulary and tokenizer together.
        seconds: that the reading process may take, by the clock.
        memory_bytes: that the reading process may ask the system for; mapped files count.
    """

    max_file_bytes: int | None
    max_tensors: int = 100_000
    max_header_bytes: int = 64 * MEBIBYTE
    max_name_length: int = 512
    max_dimensions: int = 8
    max_small_file_bytes: int = 64 * MEBIBYTE
    seconds: float = 600.0
    memory_bytes: int = 2048 * MEBIBYTE


LOCAL_LIMITS = Limits(max_file_bytes=None)
"""For files on this machine."""

UPLOAD_LIMITS = Limits(
    max_file_bytes=200_000_000,
    max_tensors=20_000,
    max_header_bytes=16 * MEBIBYTE,
    max_small_file_bytes=32 * MEBIBYTE,
    seconds=60.0,
    memory_bytes=1024 * MEBIBYTE,
)
"""For files that come through the browser."""
