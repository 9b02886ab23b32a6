"""Reduce attention maps to the pixels at which they are shown, without losing a peak.

A grid of heads shows each map 60 to 150 pixels wide, so a 512 x 512 map need not be sent in full. Each pixel
shows the maximum of its block of cells: an average would hide a head that looks at exactly one word. Axes: L
layer, H head, Q query position, K key position, h and w pooled rows and columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

CLOSED_LEVEL = 255
"""The level of a block in which every cell is closed (masked, NaN or -inf)."""
TOP_LEVEL = 254
"""The level of a map's largest value; level 0 is its smallest."""


@dataclass(frozen=True)
class PooledMaps:
    """Maps reduced by block-wise maximum and quantised to one byte per block.

    A level n below ``CLOSED_LEVEL`` means ``low + n / TOP_LEVEL * (high - low)``, with each map's own low and
    high, so that a head with only small weights keeps its detail. The error is at most half a level.
    """

    levels: NDArray[np.uint8]
    """(L, H, h, w): 0 to 254, or ``CLOSED_LEVEL``."""
    low: NDArray[np.float32]
    """(L, H): the smallest block maximum of each map; NaN where the whole map is closed."""
    high: NDArray[np.float32]
    """(L, H): the largest value of each map, exact; NaN where the whole map is closed."""
    strongest_query: NDArray[np.int64]
    """(L, H): the query position of each map's largest value; -1 where the whole map is closed."""
    strongest_key: NDArray[np.int64]
    """(L, H): the key position of each map's largest value; -1 where the whole map is closed."""
    n_queries: int
    n_keys: int


def block_edges(length: int, side: int) -> NDArray[np.int64]:
    """Cut positions into ``min(length, side)`` consecutive blocks whose sizes differ by at most one.

    Block i covers the positions ``edges[i]`` to ``edges[i + 1] - 1``.
    """
    n_blocks = min(length, side)
    return np.arange(n_blocks + 1) * length // n_blocks


def pool_maps(
    values: NDArray[np.float32], allowed: NDArray[np.bool_] | None = None, side: int = 64
) -> PooledMaps:
    """Reduce every map to at most ``side`` x ``side`` blocks, each the maximum of its cells.

    Args:
        values: (L, H, Q, K), weights or scores. NaN and -inf cells count as closed.
        allowed: True where a query may attend; broadcast to (L, H, Q, K). None: everywhere.
        side: most rows, and most columns, of a pooled map.

    Raises:
        ValueError: values is empty or not four-dimensional, or side is below 1.
    """
    if values.ndim != 4 or 0 in values.shape:
        raise ValueError(f"maps must be a non-empty (layers, heads, queries, keys) array, got {values.shape}")
    if side < 1:
        raise ValueError(f"a pooled map needs at least 1 pixel per side, got {side}")
    n_queries, n_keys = values.shape[2:]
    open_cells = None if allowed is None else np.broadcast_to(allowed, values.shape)
    rows, columns = block_edges(n_queries, side), block_edges(n_keys, side)
    pooled = _pool_keys(_pool_queries(values, open_cells, rows), columns)
    query, key = _strongest_cells(values, open_cells, pooled, rows, columns)
    levels, low, high = _quantise(pooled)
    return PooledMaps(levels, low, high, query, key, n_queries, n_keys)


def _pool_queries(
    values: NDArray[np.float32], open_cells: NDArray[np.bool_] | None, edges: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Reduce (L, H, Q, K) to (L, H, h, K), one block of rows at a time, so that it stays in the cache."""
    n_layers, n_heads, _, n_keys = values.shape
    pooled = np.empty((n_layers, n_heads, len(edges) - 1, n_keys), np.float32)
    for block, (start, stop) in enumerate(pairwise(edges)):
        cells = values[:, :, start:stop]
        if open_cells is not None:
            cells = np.where(open_cells[:, :, start:stop], cells, np.float32(-np.inf))
        pooled[:, :, block] = np.fmax.reduce(cells, axis=2)
    return pooled


def _pool_keys(rows: NDArray[np.float32], edges: NDArray[np.int64]) -> NDArray[np.float32]:
    """Reduce (L, H, h, K) to (L, H, h, w); closed blocks are -inf."""
    pooled = rows if len(edges) - 1 == rows.shape[-1] else np.fmax.reduceat(rows, edges[:-1], axis=-1)
    return np.where(np.isfinite(pooled), pooled, np.float32(-np.inf))


def _strongest_cells(
    values: NDArray[np.float32],
    open_cells: NDArray[np.bool_] | None,
    pooled: NDArray[np.float32],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the query and key of each map's largest value, (L, H) each: first the block, then the cell."""
    n_layers, n_heads, _, width = pooled.shape
    query = np.full((n_layers, n_heads), -1)
    key = np.full((n_layers, n_heads), -1)
    best_block = pooled.reshape(n_layers, n_heads, -1).argmax(axis=-1)
    for layer, head in np.ndindex(n_layers, n_heads):
        row, column = divmod(int(best_block[layer, head]), width)
        if pooled[layer, head, row, column] == -np.inf:
            continue
        block = (layer, head, slice(rows[row], rows[row + 1]), slice(columns[column], columns[column + 1]))
        cells = values[block]
        closed = ~np.isfinite(cells)
        if open_cells is not None:
            closed |= ~open_cells[block]
        offset = divmod(int(np.where(closed, -np.inf, cells).argmax()), cells.shape[1])
        query[layer, head] = rows[row] + offset[0]
        key[layer, head] = columns[column] + offset[1]
    return query, key


def _quantise(
    pooled: NDArray[np.float32],
) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32]]:
    """Return the levels (L, H, h, w) and each map's low and high (L, H)."""
    closed = pooled == -np.inf
    high = pooled.max(axis=(2, 3))
    low = np.where(closed, np.float32(np.inf), pooled).min(axis=(2, 3))
    empty = closed.all(axis=(2, 3))
    high[empty] = low[empty] = np.nan
    span = np.where(high > low, high - low, np.float32(1))[..., None, None]
    scaled = (np.where(closed, 0, pooled) - low[..., None, None]) / span * TOP_LEVEL
    levels = np.where(closed, CLOSED_LEVEL, np.rint(np.where(closed, 0, scaled)))
    return levels.astype(np.uint8), low, high
