"""Many matrices of one shape laid out as the tiles of a single heatmap.

One trace with gaps costs a fraction of one subplot per matrix: 48 maps of 64 tokens take a fifth of the time.
Axes: R tile rows, C tile columns, Q query position, K key position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._closed import Closed, any_closed
from viz.figures._style import thin_lines
from viz.theme import Theme

MAX_CELLS = 100_000
"""Most cells of all tiles together; larger maps are pooled, because a screen has no more pixels."""


@dataclass(frozen=True)
class Tiles:
    """The layout of (R, C) tiles of (Q, K) cells, with gaps between them.

    `gap_rows` and `gap_columns` are in cells; the gap above each tile row leaves room for a heading.
    """

    rows: int
    columns: int
    queries: int
    keys: int
    gap_rows: int
    gap_columns: int

    @property
    def height(self) -> int:
        """Cells from top to bottom, including gaps."""
        return self.rows * (self.queries + self.gap_rows)

    @property
    def width(self) -> int:
        """Cells from left to right, including gaps."""
        return self.columns * (self.keys + self.gap_columns) - self.gap_columns

    def top(self, row: int) -> int:
        """First cell row of a tile row."""
        return row * (self.queries + self.gap_rows) + self.gap_rows

    def left(self, column: int) -> int:
        """First cell column of a tile column."""
        return column * (self.keys + self.gap_columns)

    def assemble(self, values: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Place up to R * C matrices (Q, K) in reading order -> (height, width), with NaN between them."""
        sheet = np.full((self.height, self.width), np.nan, dtype=np.float32)
        for index, value in enumerate(values):
            row, column = divmod(index, self.columns)
            top, left = self.top(row), self.left(column)
            sheet[top : top + self.queries, left : left + self.keys] = value
        return sheet

    def repeat(self, closed: Closed, count: int) -> Closed:
        """Repeat the closed cells (Q, K) in the first `count` tiles -> (height, width)."""
        return {
            reason: self.assemble([where.astype(np.float32)] * count) == 1 for reason, where in closed.items()
        }

    def frames(self, count: int, theme: Theme) -> go.Scatter:
        """Draw a thin frame around each of the first `count` tiles, so that empty ones are visible."""
        x: list[float] = []
        y: list[float] = []
        for index in range(count):
            row, column = divmod(index, self.columns)
            top, left = self.top(row) - 0.5, self.left(column) - 0.5
            right, bottom = left + self.keys, top + self.queries
            x += [left, right, right, left, left, np.nan]
            y += [top, top, bottom, bottom, top, np.nan]
        return thin_lines(x, y, theme.muted)

    def labels(self, axis: str, tiles: Sequence[str], tokens: Sequence[str]) -> list[str]:
        """Label each cell column ("x") or row ("y") with its tile and its token; gaps have empty labels."""
        length, start = (self.width, self.left) if axis == "x" else (self.height, self.top)
        labels = [""] * length
        for number, tile in enumerate(tiles):
            for position, token in enumerate(tokens):
                labels[start(number) + position] = f"{tile}{token}"
        return labels


def block_size(tiles: int, queries: int, keys: int) -> int:
    """Side of the square blocks that are pooled to one cell each, to keep all tiles within MAX_CELLS."""
    side = 1
    while tiles * -(-queries // side) * -(-keys // side) > MAX_CELLS:
        side += 1
    return side


def pool(values: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """Take the value farthest from 0 of each block: (..., Q, K) -> (..., ceil(Q / side), ceil(K / side)).

    Not the mean, because users look for single strong cells. NaN for a block without numbers.
    """
    if side == 1:
        return values
    queries, keys = values.shape[-2:]
    padding = [(0, 0)] * (values.ndim - 2) + [(0, -queries % side), (0, -keys % side)]
    blocks = np.pad(values, padding, constant_values=np.nan)
    rows, columns = blocks.shape[-2] // side, blocks.shape[-1] // side
    blocks = blocks.reshape(*values.shape[:-2], rows, side, columns, side)
    blocks = np.moveaxis(blocks, -3, -2).reshape(*values.shape[:-2], rows, columns, side * side)
    strength = np.where(np.isnan(blocks), -1, np.abs(blocks))
    return np.take_along_axis(blocks, strength.argmax(-1)[..., None], axis=-1)[..., 0]


def pool_closed(closed: Closed, side: int) -> Closed:
    """The blocks whose cells are all closed, by reason."""
    if side == 1 or not closed:
        return closed
    union = any_closed(closed, next(iter(closed.values())).shape)
    whole = ~(pool((~union).astype(np.float32), side) > 0)
    return {reason: (pool(where.astype(np.float32), side) > 0) & whole for reason, where in closed.items()}


def pool_labels(labels: Sequence[str], side: int) -> list[str]:
    """One label per block: the first and the last label in it."""
    if side == 1:
        return list(labels)
    blocks = [labels[start : start + side] for start in range(0, len(labels), side)]
    return [block[0] if len(block) == 1 else f"{block[0]} … {block[-1]}" for block in blocks]
