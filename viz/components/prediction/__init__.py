"""A row of tokens or a matrix to predict a place in, and then what is there: drawn in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz.components.shared.client_view import JSON, ClientView, index
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.theme import Theme

Place = tuple[int, int]
"""A row and a column."""


@dataclass(frozen=True)
class Board:
    """What can be clicked; all text is plain, with invisible characters already made visible.

    Attributes:
        columns: labels.
        rows: labels; empty for a single row of tokens.
        axes: what rows and columns are.
        values: (rows or 1, columns); NaN where nothing can be clicked.
        right: (rows or 1, columns), which are right.
        unit: what the values are.
    """

    columns: Sequence[str]
    rows: Sequence[str]
    axes: tuple[str, str]
    values: NDArray[np.floating[Any]]
    right: NDArray[np.bool_]
    unit: str


_VIEW = ClientView("prediction")


def prediction(
    board: Board,
    *,
    colors: Theme,
    key: str,
    title: str,
    chosen: Place | None = None,
    is_revealed: bool = False,
    on_predict: Callable[[Place], None] | None = None,
) -> None:
    """Draw the board: by mouse, touch or arrow keys and Enter one place is chosen.

    The values reach the browser only when they are revealed.

    Args:
        board: what can be clicked.
        title: the question, for screen readers.
        chosen: what was predicted.
        is_revealed: whether values, the prediction and what is right are shown; nothing can be chosen then.
        on_predict: called with the place that was chosen.
    """
    shape = board.values.shape
    data = {
        "colors": color_data(colors),
        "title": title,
        "rows": [brief(label) for label in board.rows],
        "columns": [brief(label) for label in board.columns],
        "axes": list(board.axes),
        "unit": board.unit,
        "chosen": None if chosen is None else list(chosen),
        "revealed": is_revealed,
    }
    arrays = {"open": (~np.isnan(board.values)).astype(np.uint8)}
    if is_revealed:
        arrays |= {"values": board.values.astype(np.float32), "right": board.right.astype(np.uint8)}

    def place(value: JSON) -> Place:
        row, column = value
        at = index(row, shape[0]), index(column, shape[1])
        if is_revealed or np.isnan(board.values[at]):
            raise ValueError(f"not a place to choose: {value!r}")
        return at

    _VIEW.mount(pack_frame(data, arrays), key=key, parse=place, on_select=on_predict)
