"""What the Explore page keeps: the cell that the user has clicked, which has no widget."""

from __future__ import annotations

from viz.address import remembered, whole_numbers
from viz.widgets import set_choice

_CELL = "cell"


def chosen_cell(n_queries: int, n_keys: int) -> tuple[int, int] | None:
    """The cell that this user has clicked, as (query, key); None without one in maps of this size."""
    match whole_numbers(remembered(_CELL, "")):
        case [query, key] if query < n_queries and key < n_keys:
            return query, key
    return None


def choose_cell(cell: tuple[int, int] | None) -> None:
    """Choose the (query, key) cell that the arithmetic is shown of. To be called from a callback."""
    set_choice(_CELL, "" if cell is None else f"{cell[0]},{cell[1]}")
