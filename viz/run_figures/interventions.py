"""Changed runs as figures: heads kept, effects of parts, patches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from transformer.analysis.interventions.heads import HeadPlace
from transformer.analysis.interventions.patching import Pair, PatchGrid
from transformer.analysis.receipts.receipt import Receipt
from transformer.model.config import TransformerConfig
from viz.figures.grids import signed_grid
from viz.figures.interventions import kept_heads_curve
from viz.figures.labels import visible
from viz.figures.sums import term_bars
from viz.theme import Theme

MOST_BARS = 20
"""Most parts that are drawn, from the one that costs most."""


def effects_figure(receipt: Receipt, *, theme: Theme) -> go.Figure:
    """Draw how much the answer falls without each part."""
    found = receipt.largest(MOST_BARS)
    return term_bars(
        np.array([effect for _, effect, _ in found]),
        [name for name, _, _ in found],
        theme=theme,
        quantity=receipt.metric,
        axis="head" if receipt.inquiry.parts == "heads" else "word",
    )


def kept_heads_figure(
    answers: NDArray[np.float64], order: Sequence[HeadPlace], *, theme: Theme, quantity: str
) -> go.Figure:
    """Draw the answers with the first k heads of an order."""
    return kept_heads_curve(answers, list(map(str, order)), theme=theme, quantity=quantity)


def patch_columns(pair: Pair, grid: PatchGrid) -> list[str]:
    """The columns of a grid: heads, or tokens, both where the two sentences differ."""
    place = grid.place
    if place.by_head:
        return [str(head) for head in range(grid.shares.shape[1])]
    stack = "encoder" if place.attention == "cross_attn" and place.tensor != "z" else place.stack
    own, other = (run.trace.tokens(stack)[0] for run in (pair.clean, pair.corrupt))
    return [
        visible(mine) if mine == theirs else f"{visible(mine)} / {visible(theirs)}"
        for mine, theirs in zip(own, other, strict=True)
    ]


def patch_figure(
    pair: Pair,
    grid: PatchGrid,
    config: TransformerConfig,
    *,
    theme: Theme,
    chosen: tuple[int, int] | None = None,
) -> go.Figure:
    """Draw a grid of patches, coloured from -1 to 1 whatever its shares are, so that grids compare.

    With a chosen cell, which is framed, every cell can be clicked.
    """
    place = grid.place
    return signed_grid(
        grid.shares.numpy(),
        place.row_labels(config),
        patch_columns(pair, grid),
        theme=theme,
        quantity="share of the way (0 to 1)",
        axes=place.axes,
        strongest=1,
        chosen=chosen,
    )
