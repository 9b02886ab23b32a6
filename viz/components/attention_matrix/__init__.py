"""One matrix of queries x keys large: attention weights, scores or a mask, drawn in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from viz.components.shared.client_view import JSON, ClientView, index
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.theme import Theme

EXACT_SIDE = 128
"""Up to this many queries and keys, values travel as float32; above it as 16-bit levels."""
TOP_LEVEL = 65534
"""The highest 16-bit level: precision is then (largest - smallest) / 65534. Level 65535 is minus infinity."""


@dataclass(frozen=True)
class MatrixCell:
    """One cell: the positions of its query and its key, both counted from 0."""

    query: int
    key: int


_VIEW = ClientView("attention_matrix")


def attention_matrix(
    values: NDArray[np.float32],
    *,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    colors: Theme,
    key: str,
    kind: Literal["weights", "scores"] = "weights",
    closed: NDArray[np.uint8] | None = None,
    reasons: Sequence[str] = (),
    title: str = "Attention",
    value_label: str = "attention weight",
    value_range: tuple[float, float] | None = None,
    beside: Sequence[tuple[Sequence[str], Sequence[str]]] = (),
    selected: MatrixCell | None = None,
    on_select: Callable[[MatrixCell | None], None] | None = None,
) -> None:
    """Draw one matrix: a row is a query (the token that looks), a column is a key (the token looked at).

    Cells that are large enough show their number; hovering shows every number to four decimals, names the
    two tokens and, for a closed cell, the reason. Repeated words are different rows and columns. Long
    sentences scroll inside a box of bounded height; cells grow and shrink with the buttons or ctrl and the
    wheel. A click (or Enter) locks a cell, Escape lets it go; only that reaches Python.

    Args:
        values: (Q, K). Weights, scores (-inf where a mask has been added), or, for a mask, anything.
        query_tokens: Q tokens, with invisible characters already made visible.
        key_tokens: K tokens, likewise.
        kind: "weights" are coloured from 0 up, "scores" diverge from 0.
        closed: (Q, K) or what broadcasts to it: 0 where the cell is open, n where reasons[n - 1] closes it.
            Closed cells are grey and striped, each of the first three reasons in its own way.
        reasons: up to 255 texts such as "masked: future".
        title: what the matrix is, for screen readers.
        value_label: what the colours mean, written beside the colour bar.
        value_range: the ends of the colour scale; None: measured on the open cells.
        beside: the query and key tokens of the matrices that this one is compared with, in columns of the
            same width: all then have cells of one size.
        selected: the locked cell. A change of it moves the lock; the user's own click moves it at once.
        on_select: called with the cell that was locked, or None when the lock was let go.

    Raises:
        ValueError: if values, tokens and closed do not belong together.
    """
    shape = (len(query_tokens), len(key_tokens))
    if values.shape != shape or 0 in shape:
        raise ValueError(f"values of shape {values.shape} for {shape[0]} queries and {shape[1]} keys")
    codes = _reason_codes(shape, closed, len(reasons))
    data = {
        "colors": color_data(colors),
        "title": title,
        "label": value_label,
        "kind": kind,
        **_tokens(query_tokens, key_tokens),
        "range": list(value_range) if value_range else None,
        "reasons": list(reasons),
        "beside": [_tokens(queries, keys) for queries, keys in beside],
        "selected": [selected.query, selected.key] if selected else None,
    }
    numbers, arrays = _value_data(values)

    def parse(value: JSON) -> MatrixCell | None:
        if value == "cleared":
            return None
        return MatrixCell(index(value["query"], shape[0]), index(value["key"], shape[1]))

    frame = pack_frame(data | numbers, arrays | _closed_runs(codes))
    _VIEW.mount(frame, key=key, parse=parse, on_select=on_select)


def _tokens(queries: Sequence[str], keys: Sequence[str]) -> dict[str, list[str]]:
    return {"queries": list(map(brief, queries)), "keys": list(map(brief, keys))}


def _reason_codes(
    shape: tuple[int, int], closed: NDArray[np.uint8] | None, n_reasons: int
) -> NDArray[np.uint8]:
    """Why each cell is closed, 0 where it is open, as `attention_matrix` takes it: (Q, K)."""
    codes: NDArray[np.uint8] = np.broadcast_to(np.uint8(0) if closed is None else closed, shape)
    if codes.max() > n_reasons:
        raise ValueError(f"a cell is closed for reason {codes.max()}, of {n_reasons} given")
    return codes


def _value_data(values: NDArray[np.float32]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Give the values' header fields and their array: exact, or above ``EXACT_SIDE`` as 16-bit levels."""
    if max(values.shape) <= EXACT_SIDE:
        return {}, {"values": values.astype(np.float32)}
    finite = np.isfinite(values)
    low, high = (float(values[finite].min()), float(values[finite].max())) if finite.any() else (0.0, 0.0)
    scaled = (np.where(finite, values, low) - low) / ((high - low) or 1.0) * TOP_LEVEL
    levels = np.where(finite, np.rint(scaled), TOP_LEVEL + 1).astype(np.uint16)
    return {"low": low, "high": high, "top": TOP_LEVEL}, {"levels": levels}


def _closed_runs(codes: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Describe the reasons as runs of equal cells, row after row: masks are a few runs a row."""
    flat = codes.ravel()
    starts = np.flatnonzero(np.diff(flat, prepend=np.int16(-1))).astype(np.uint32)
    return {"run_starts": starts, "run_reasons": flat[starts].astype(np.uint8)}
