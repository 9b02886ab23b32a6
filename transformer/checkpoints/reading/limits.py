"""Limits on a checkpoint's sizes and counts, and the checks that enforce them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from transformer.errors import CheckpointError, shown

MEBIBYTE = 2**20
_LARGEST = 2**48
"""Most items in a tensor: more than any machine can store, and far from overflow."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits beyond which a checkpoint is refused unread.

    Attributes:
        max_file_bytes: total size of all weights files; None for no limit.
        max_tensors: tensors in a checkpoint.
        max_header_bytes: size of the description of one file's tensors: a safetensors header, a zip's
            directory, the pickle in it, a folder's index.
        max_name_length: length of a tensor's name in characters.
        max_dimensions: dimensions of a tensor.
        max_small_file_bytes: total size of a folder's configuration, vocabulary and tokenizer.
        seconds: wall-clock time of the reading process.
        memory_bytes: address space of the reading process, including mapped files.
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
"""For files uploaded in the browser."""


def check_name(name: str, limits: Limits) -> None:
    """Refuse an invalid tensor name.

    Raises:
        CheckpointError: says why.
    """
    if not name:
        raise CheckpointError("has a tensor without a name: save it again, a name for each.")
    if len(name) > limits.max_name_length:
        raise CheckpointError(
            f"has a tensor whose name has {len(name)} characters, where {limits.max_name_length} are "
            f"allowed ({shown(name)}): save it again with shorter names."
        )
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise CheckpointError(
            f"has a tensor whose name is no valid text ({shown(name)}): save it again."
        ) from error


def check_shape(shape: tuple[int, ...], limits: Limits, what: str) -> None:
    """Refuse an invalid shape; empty tensors are allowed here, though not as weights (see `check_not_empty`).

    Raises:
        CheckpointError: says why, calling the tensor `what`.
    """
    if len(shape) > limits.max_dimensions:
        raise CheckpointError(
            f"gives {what} {len(shape)} dimensions, where {limits.max_dimensions} are allowed: save it again."
        )
    if any(size < 0 for size in shape):
        raise CheckpointError(f"gives {what} a negative size: copy or save it again.")
    n_items = 1
    for size in shape:
        n_items *= max(size, 1)
        if n_items > _LARGEST:
            raise CheckpointError(f"gives {what} an absurd size: copy or save it again.")


def check_not_empty(shape: tuple[int, ...], what: str) -> None:
    """Refuse an empty weight.

    Raises:
        CheckpointError: says so, calling the tensor `what`.
    """
    if 0 in shape:
        raise CheckpointError(
            f"gives {what} a size of zero, so it holds nothing: save it without that tensor."
        )


def check_count(n_tensors: int, limits: Limits) -> None:
    """Refuse more tensors than are allowed.

    Raises:
        CheckpointError: says how many.
    """
    if n_tensors > limits.max_tensors:
        raise CheckpointError(
            f"has {n_tensors:,} tensors, where {limits.max_tensors:,} are allowed: save the weights alone."
        )


def limit_process(most: Mapping[str, int]) -> None:
    """Set this process's resource limits.

    Windows has no such limits: there only the parent's timeout ends the process.

    Args:
        most: name of a resource in the module `resource`, without RLIMIT_ (AS, CPU, ...) -> its limit.
    """
    try:
        import resource
    except ImportError:
        return
    for name, value in most.items():
        try:
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
        except (OSError, ValueError):  # not supported here, or a lower limit is set already
            continue
