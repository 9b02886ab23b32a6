"""Where every head looks from one position, one row per head, drawn in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz.components.shared.client_view import JSON, ClientView, index
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.theme import Theme


@dataclass(frozen=True)
class HeadBlock:
    """One attention, seen from one query."""

    name: str
    weights: NDArray[np.float32]
    """(L, H, K): each head's weights over the keys."""
    tokens: Sequence[str]
    """K of them, with invisible characters already made visible."""


@dataclass(frozen=True)
class HeadRow:
    """One head of one layer in one block, all counted from 0."""

    block: int
    layer: int
    head: int


_VIEW = ClientView("head_rows")


def head_rows(
    blocks: Sequence[HeadBlock],
    *,
    colors: Theme,
    key: str,
    title: str = "Where each head looks",
    selected: HeadRow | None = None,
    on_select: Callable[[HeadRow], None] | None = None,
) -> None:
    """Draw the blocks beside each other, or under each other where it is narrow.

    In each a row is a head and a column is a token that may be looked at; the colour is the attention weight,
    from 0 to 1 for all. Hovering names the head and the token it looks at most. A click or the arrow keys
    choose a head; only that reaches Python.

    Args:
        blocks: one or more, with the same layers and heads.
        title: what the rows are, for screen readers.
        selected: the outlined row. A change of it moves the outline; the user's own choice moves at once.
        on_select: called with the row that was chosen, before the run that the choice starts.

    Raises:
        ValueError: if the blocks differ in layers and heads, or weights and tokens do not belong together.
    """
    n_layers, n_heads = blocks[0].weights.shape[:2]
    for block in blocks:
        if block.weights.shape != (n_layers, n_heads, len(block.tokens)):
            expected = (n_layers, n_heads, len(block.tokens))
            raise ValueError(f"{block.name}: weights of shape {block.weights.shape}, not {expected}")
    data = {
        "colors": color_data(colors),
        "title": title,
        "layers": n_layers,
        "heads": n_heads,
        "blocks": [{"name": block.name, "tokens": list(map(brief, block.tokens))} for block in blocks],
        "selected": [selected.block, selected.layer, selected.head] if selected else None,
    }
    arrays = {f"weights{i}": block.weights.astype(np.float32) for i, block in enumerate(blocks)}

    def parse(value: JSON) -> HeadRow:
        return HeadRow(
            index(value["block"], len(blocks)),
            index(value["layer"], n_layers),
            index(value["head"], n_heads),
        )

    _VIEW.mount(pack_frame(data, arrays), key=key, parse=parse, on_select=on_select)
