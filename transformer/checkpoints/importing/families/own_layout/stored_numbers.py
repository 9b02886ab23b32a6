"""What the stored numbers of tensors tell, compared byte by byte: without torch, and one block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from transformer.checkpoints.reading.raw import ITEM_BYTES, StoredTensor

_BLOCK = 2**20


def are_equal(one: StoredTensor, other: StoredTensor) -> bool:
    """True if two tensors have the same dtype, shape and numbers."""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    is_one_place = (one.path, one.offset) == (other.path, other.offset)
    return is_one_place or all(
        mine == theirs for mine, theirs in zip(_blocks(one, _BLOCK), _blocks(other, _BLOCK), strict=True)
    )


def is_triangle(stored: StoredTensor) -> bool:
    """True for a square with one number up to the diagonal of each row, and another one after it."""
    length = stored.shape[-1] if stored.shape else 0
    if length < 2 or stored.shape[-2:] != (length, length) or any(n > 1 for n in stored.shape[:-2]):
        return False
    size = ITEM_BYTES[stored.dtype]
    rows = _blocks(stored, length * size)
    first = next(rows)
    near, far = first[:size], first[-size:]
    expected = (near * n + far * (length - n) for n in range(1, length + 1))
    return near != far and all(
        row == wanted for row, wanted in zip(chain([first], rows), expected, strict=True)
    )


def _blocks(stored: StoredTensor, size: int) -> Iterator[bytes]:
    with stored.path.open("rb") as file:
        file.seek(stored.offset)
        for start in range(0, stored.n_bytes, size):
            yield file.read(min(size, stored.n_bytes - start))
