"""What is found in one file of weights, and the checks that every format shares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from transformer.checkpoints.reading.limits import Limits
from transformer.checkpoints.reading.raw import ITEM_BYTES
from transformer.checkpoints.reading.regular_file import shown
from transformer.errors import CheckpointError

_LARGEST = 2**48
"""Numbers in a tensor: more than any machine holds, and far from where products overflow anywhere."""

_MOST_SHARED = 4
"""Names for the same numbers: an embedding has as many in BART."""
_SHARED_BYTES = 2**28
"""Of all tensors, up to which any number of them may be the same."""


@dataclass(frozen=True)
class Block:
    """Bytes of a file that belong together.

    Attributes:
        offset: of the first.
        n_bytes: in all.
        dtype: of the numbers in them.
        crc: their CRC-32; None where the format has none.
    """

    offset: int
    n_bytes: int
    dtype: str
    crc: int | None = None


@dataclass(frozen=True)
class Placed:
    """A dense row-major tensor: its numbers begin `start` bytes into a block."""

    block: Block
    start: int
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """The bytes that its numbers take."""
        return math.prod(self.shape) * ITEM_BYTES[self.block.dtype]


@dataclass(frozen=True)
class Found:
    """The tensors of one file, and what a trainer saved beside them (as in RawCheckpoint)."""

    tensors: Mapping[str, Placed]
    extras: Mapping[str, Any] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


def check_name(name: str, limits: Limits) -> None:
    """Refuse what is no name of a tensor.

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
    """Refuse shapes that no tensor should have; an empty one may be, though not as a weight.

    Raises:
        CheckpointError: says why, with `what` in the place of the tensor.
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
    """Refuse a weight without numbers.

    Raises:
        CheckpointError: says so, with `what` in the place of the tensor.
    """
    if 0 in shape:
        raise CheckpointError(
            f"gives {what} a size of zero, so it holds nothing: save it without that tensor."
        )


def check_sharing(tensors: Mapping[str, Placed]) -> None:
    """Refuse a file that grows without bounds when each of its tensors gets numbers of its own.

    Embeddings and generator are often one; whole layers that are shared are found in small models.

    Raises:
        CheckpointError: says how much it would be.
    """
    stored = sum({placed.block.offset: placed.block.n_bytes for placed in tensors.values()}.values())
    named = sum(placed.n_bytes for placed in tensors.values())
    if named > max(_MOST_SHARED * stored, _SHARED_BYTES):
        raise CheckpointError(
            f"has tensors of {named:,} bytes that share {stored:,} bytes of numbers: save it again with each "
            "shared tensor under one name."
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
