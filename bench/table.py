"""How figures are printed."""

from __future__ import annotations

from collections.abc import Sequence


def table(title: str, head: Sequence[str], cells: Sequence[Sequence[object]]) -> str:
    """Lay out cells in columns, right-aligned, under a title."""
    rows = [[str(cell) for cell in row] for row in (head, *cells)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([title, "-" * len(title), *lines])


def time(seconds: float | None) -> str:
    """A time in ms or s."""
    if seconds is None:
        return "never"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def size(n_bytes: int) -> str:
    """A size in kB or MB (powers of ten)."""
    return f"{n_bytes / 1e3:.0f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"
