"""Cached keys and values, so that a decoding step computes only one token."""

from __future__ import annotations

import torch
from torch import Tensor


class KeyValueCache:
    """The keys and values of one attention, written in place, so for inference only."""

    def __init__(self) -> None:
        self._k: _GrowingTensor | None = None
        self._v: _GrowingTensor | None = None

    def __len__(self) -> int:
        return 0 if self._k is None else self._k.length

    def contents(self) -> tuple[Tensor, Tensor] | None:
        """All keys and values, (B, H, K, d_head) each; None before the first."""
        if self._k is None or self._v is None:
            return None
        return self._k.values, self._v.values

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append the newest tokens' keys and values along K; returns all of them."""
        if self._k is None or self._v is None:
            self._k, self._v = _GrowingTensor(k), _GrowingTensor(v)
        else:
            self._k.append(k)
            self._v.append(v)
        return self._k.values, self._v.values

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order."""
        if self._k is not None and self._v is not None:
            self._k.select(rows)
            self._v.select(rows)


class _GrowingTensor:
    """A tensor (B, H, K, d_head) that grows along K and whose rows can be selected.

    The buffer doubles when full, so most tokens are appended without copying. Selecting copies between two
    buffers, because allocating memory at each step took longer than copying.
    """

    def __init__(self, first: Tensor) -> None:
        self._buffer = first  # (B, H, room, d_head)
        self._spare: Tensor | None = None
        self.length = first.shape[2]

    @property
    def values(self) -> Tensor:
        """A view (B, H, K, d_head), valid until the next change."""
        return self._buffer[:, :, : self.length]

    def append(self, new: Tensor) -> None:
        """Append tokens along K: (B, H, new, d_head)."""
        start, self.length = self.length, self.length + new.shape[2]
        if self.length > self._buffer.shape[2]:
            batch, heads, _, d_head = self._buffer.shape
            larger = new.new_empty(batch, heads, max(self.length, 2 * start), d_head)
            larger[:, :, :start] = self._buffer[:, :, :start]
            self._buffer = larger
        self._buffer[:, :, start : self.length] = new

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order."""
        target = self._spare
        if target is None or target.shape[0] < len(rows) or target.shape[2] < self.length:
            target = self._buffer.new_empty(len(rows), *self._buffer.shape[1:])
        target = target[: len(rows)]
        torch.index_select(self.values, 0, rows, out=target[:, :, : self.length])
        self._buffer, self._spare = target, self._buffer
