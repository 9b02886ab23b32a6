"""All layers x heads at a glance, drawn on one canvas in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from viz.components.shared.client_view import JSON, ClientView, index
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.pooling import PooledMaps
from viz.theme import Theme


@dataclass(frozen=True)
class GridCell:
    """One head of one layer, both counted from 0."""

    layer: int
    head: int


_VIEW = ClientView("attention_grid")


def attention_grid(
    maps: PooledMaps,
    *,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    layer_labels: Sequence[str],
    head_labels: Sequence[str],
    colors: Theme,
    key: str,
    title: str = "Attention of every head",
    value_label: str = "attention weight",
    kind: Literal["weights", "scores"] = "weights",
    value_range: tuple[float, float] | None = None,
    selected: GridCell | None = None,
    on_select: Callable[[GridCell], None] | None = None,
) -> None:
    """Draw the grid of heads: one map per head, rows are layers, columns are heads.

    In each map a row is a query (the token that looks), a column is a key (the token that is looked at).
    Hovering names the head's strongest pair of tokens with its exact weight, and what is under the pointer.
    Clicking a map, or moving with the arrow keys, selects it; only that reaches Python.

    Args:
        maps: (L, H) maps from ``viz.pooling.pool_maps``. 64 pixels per side suit a grid of 8 heads.
        query_tokens: every token of the rows, with invisible characters already made visible.
        key_tokens: every token of the columns, likewise.
        layer_labels: L labels such as "layer 0".
        head_labels: H labels such as "head 3". Where they do not fit, their last words stand for them.
        title: what the grid is, for screen readers.
        value_label: what the colours mean, written beside the colour bar.
        kind: "weights" are coloured from 0 on; "scores" diverge from 0 to both sides.
        value_range: the ends of the colour scale, those of the pictures beside it; None: up to the largest.
        selected: the outlined map. A change of it moves the outline; the user's own click moves it at once.
        on_select: called with what was selected, before the run that the selection starts.

    Raises:
        ValueError: if labels or tokens do not have the lengths of the maps.
    """
    n_layers, n_heads, rows, columns = maps.levels.shape
    given = (len(layer_labels), len(head_labels), len(query_tokens), len(key_tokens))
    expected = (n_layers, n_heads, maps.n_queries, maps.n_keys)
    if given != expected:
        raise ValueError(f"layers, heads, queries, keys: the maps have {expected}, the labels {given}")
    data = {
        "colors": color_data(colors),
        "title": title,
        "label": value_label,
        "note": _note(maps),
        "kind": kind,
        "range": list(value_range) if value_range else None,
        "size": [rows, columns],
        "layers": list(layer_labels),
        "heads": list(head_labels),
        "queries": list(map(brief, query_tokens)),
        "keys": list(map(brief, key_tokens)),
        "strongest_query": maps.strongest_query.ravel().tolist(),
        "strongest_key": maps.strongest_key.ravel().tolist(),
        "selected": [selected.layer, selected.head] if selected else None,
    }
    arrays: dict[str, NDArray[Any]] = {"levels": maps.levels, "low": maps.low, "high": maps.high}

    def parse(value: JSON) -> GridCell:
        return GridCell(index(value["layer"], n_layers), index(value["head"], n_heads))

    _VIEW.mount(pack_frame(data, arrays), key=key, parse=parse, on_select=on_select)


def _note(maps: PooledMaps) -> str:
    """Say what a pixel stands for."""
    axes = "In each map a row is a query, which looks; a column is a key, which is looked at."
    rows = int(np.ceil(maps.n_queries / maps.levels.shape[2]))
    columns = int(np.ceil(maps.n_keys / maps.levels.shape[3]))
    if rows == columns == 1:
        return axes
    return f"{axes} A pixel shows the largest of up to {rows} × {columns} cells: no sharp peak is lost."
