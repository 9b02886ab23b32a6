"""A row of tokens or a matrix in which the user predicts a place, then sees the values, in the browser."""

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
    """The places to choose from; all text is plain, with invisible characters already made visible.

    Attributes:
        columns: labels.
        rows: labels; empty for a single row of tokens.
        axes: the names of rows and columns.
        values: (rows or 1, columns); NaN where nothing can be chosen.
        right: (rows or 1, columns), True for right answers.
        unit: the name of the values.
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
    """Draw the board; one place is chosen by mouse, touch, or arrow keys and Enter.

    The values reach the browser only once they are revealed.

    Args:
        board: the places to choose from.
        title: the question, for screen readers.
        chosen: the prediction.
        is_revealed: True to show values, prediction and right answers; then nothing can be chosen.
        on_predict: called with the chosen place.
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
