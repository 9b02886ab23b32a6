"""The ways to look at a chosen head: alone, beside its layer's heads, beside an untrained model's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.run import Run
from viz.arrays import (
    ATTENTION_LABELS,
    Attention,
    AttentionMaps,
    Measure,
    Words,
    attention_maps,
    attention_record,
    by_word,
    closed_cells,
)
from viz.components.attention_grid import GridCell, attention_grid
from viz.components.attention_lines import WINDOW, attention_lines
from viz.components.attention_matrix import MatrixCell, attention_matrix
from viz.figures import attention as figures
from viz.figures.labels import visible
from viz.figures.scales import color_range
from viz.pages._arithmetic import show_arithmetic
from viz.pages._figure import save_menu
from viz.pages._word_arithmetic import show_word_arithmetic
from viz.pooling import pool_maps
from viz.session import (
    current_choice,
    current_model,
    current_theme,
    set_choice,
    set_focus,
    twin_run,
)
from viz.text_session import current_texts

MATRICES_UP_TO = 48
"""Tokens a side up to which the heads of a layer are drawn with their tokens; longer ones without."""
WORDLESS_SIDE = 128
"""Pixels that such a map is pooled to."""
RANDOM_SEED = 1
QUANTITIES: dict[Measure, Callable[[str], figures.Quantity]] = {
    "weights": lambda _: figures.WEIGHTS,
    "scores": figures.scores_as,
    "masked": figures.masked_scores_as,
}


@dataclass(frozen=True)
class Shown:
    """What is to be drawn: one attention of a run, in one measure, with the head and cell that are chosen.

    Attributes:
        words: of the queries and of the keys, where words stand for their sub-words.
    """

    run: Run
    attention: Attention
    measure: Measure
    maps: AttentionMaps
    layer: int
    head: int
    cell: tuple[int, int]
    words: tuple[Words, Words] | None

    def maps_of(self, run: Run, measure: Measure) -> AttentionMaps:
        """The same attention of a run with the same tokens, between words where these maps are."""
        maps = attention_maps(run.trace, self.attention, measure)
        return by_word(maps, *self.words) if self.words else maps

    def position(self, cell: MatrixCell) -> tuple[int, int]:
        """The cell as (query, key) positions of tokens: those of the words' first ones."""
        if self.words is None:
            return cell.query, cell.key
        queries, keys = self.words
        return queries.tokens(cell.query)[0], keys.tokens(cell.key)[0]

    @property
    def formula(self) -> str:
        """How the model computes a score."""
        config = current_model().model.config
        is_biased = config.positions == "relative" and self.attention != "cross"
        return "q·k" + (" / √d_head" if config.attention_scale else "") + (" + b" if is_biased else "")

    @property
    def color_range(self) -> tuple[float, float]:
        """The ends of the colour scale of every picture of this attention: the grid's and the large ones'."""
        return color_range(self.maps.values, signed=coloring(self.measure) == "scores")

    @property
    def title(self) -> str:
        """What is shown, in words."""
        return f"{ATTENTION_LABELS[self.attention]}, layer {self.layer}, head {self.head}"

    @property
    def slug(self) -> str:
        """What is shown, for a file name."""
        by = "-by-word" if self.words else ""
        return f"{self.attention}-attention-{self.measure}{by}-layer{self.layer}"


def one_head(shown: Shown) -> None:
    """The chosen head large, and the arithmetic of the chosen cell."""
    values = shown.maps.values[shown.layer, shown.head]
    matrix(shown, values, "head_matrix", shown.title)
    save_menu(
        lambda: figures.attention_heatmap(values, **_looks(shown), title=shown.title),
        name=f"{shown.slug}-head{shown.head}",
        key="save_head",
    )
    if shown.words:
        record = attention_record(shown.run.trace, shown.attention, shown.layer)
        show_word_arithmetic(record, shown.head, *shown.words, shown.cell)
    else:
        show_arithmetic(shown.run.trace, shown.attention, shown.layer, shown.head, shown.cell)


def side_by_side(shown: Shown) -> None:
    """All heads of the chosen layer."""
    values = shown.maps.values[shown.layer]
    if max(values.shape[1:]) > MATRICES_UP_TO:
        _wordless_heads(shown, values)
    else:
        for start in range(0, len(values), 2):
            columns = st.columns(2)
            for head in range(start, min(start + 2, len(values))):
                with columns[head - start]:
                    st.markdown(f"**Head {head}**")
                    matrix(shown, values[head], f"head_matrix_{head}", f"layer {shown.layer}, head {head}")
    save_menu(
        lambda: figures.layer_heads(values, **_looks(shown), title=shown.title.rpartition(",")[0]),
        name=f"{shown.slug}-all-heads",
        key="save_layer",
    )


def _wordless_heads(shown: Shown, values: NDArray[np.float32]) -> None:
    attention_grid(
        pool_maps(values[None], shown.maps.allowed, WORDLESS_SIDE),
        query_tokens=list(map(visible, shown.maps.query_tokens)),
        key_tokens=list(map(visible, shown.maps.key_tokens)),
        layer_labels=[f"layer {shown.layer}"],
        head_labels=[f"head {head}" for head in range(len(values))],
        colors=current_theme(),
        key="layer_grid",
        kind=coloring(shown.measure),
        value_range=shown.color_range,
        selected=GridCell(0, shown.head),
        on_select=lambda cell: set_choice("head", cell.head),
    )


def lines(shown: Shown) -> None:
    """All heads of the chosen layer as lines from the tokens that look to the tokens they look at."""
    weights = shown.maps_of(shown.run, "weights").values[shown.layer]
    if shown.measure != "weights":
        st.caption("Lines show weights, whatever is chosen above: a score below 0 has no width.")
    query, key = shown.cell
    attention_lines(
        weights,
        query_tokens=list(map(visible, shown.maps.query_tokens)),
        key_tokens=list(map(visible, shown.maps.key_tokens)),
        head_labels=[f"head {head}" for head in range(len(weights))],
        colors=current_theme(),
        key="lines",
        title=f"All heads of layer {shown.layer}",
        first_query=query // WINDOW * WINDOW,
        first_key=key // WINDOW * WINDOW,
    )
    if max(weights.shape[1:]) > WINDOW:
        st.caption(f"The {WINDOW} tokens around the chosen cell are shown: choose another under One head.")
    save_menu(
        lambda: figures.layer_heads(
            weights,
            **_looks(shown) | {"quantity": figures.WEIGHTS, "value_range": None},
            title=shown.title,
        ),
        name=f"{shown.slug}-lines",
        key="save_lines",
    )


def trained_and_random(shown: Shown) -> None:
    """The chosen head beside the same head of a model with the same sizes and random weights."""
    twin = twin_run(current_choice(), *current_texts(), RANDOM_SEED)
    random_values = shown.maps_of(twin, shown.measure).values[shown.layer, shown.head]
    values = shown.maps.values[shown.layer, shown.head]
    both = np.array([shown.color_range, color_range(random_values, signed=shown.measure != "weights")])
    shared = float(both[:, 0].min()), float(both[:, 1].max())
    left, right = st.columns(2)
    with left:
        st.markdown("**The chosen model**")
        matrix(shown, values, "chosen_matrix", "the chosen model", shared)
    with right:
        st.markdown("**Random weights**, nothing learned")
        matrix(shown, random_values, "random_matrix", "the same model with random weights", shared)
    st.markdown(
        "Both have the same sizes, read the same sentence and are given the same target. What both show "
        "comes from the architecture and the positions; what only the trained one shows was learned."
    )
    save_menu(
        lambda: figures.compare(
            values, random_values, **_looks(shown) | {"value_range": shared}, title=shown.title
        ),
        name=f"{shown.slug}-head{shown.head}-and-random",
        key="save_comparison",
    )


VIEWS: dict[str, Callable[[Shown], None]] = {
    "One head": one_head,
    "Side by side": side_by_side,
    "Lines": lines,
    "Beside random": trained_and_random,
}

BESIDE_THE_GRID = ("One head", "Lines")
"""The views that fit beside the grid of heads; the others take the page's whole width."""


def coloring(measure: Measure) -> Literal["weights", "scores"]:
    """How the views colour a measure."""
    return "weights" if measure == "weights" else "scores"


def matrix(
    shown: Shown,
    values: NDArray[np.float32],
    key: str,
    title: str,
    value_range: tuple[float, float] | None = None,
) -> None:
    """One head as a matrix with its tokens; a click chooses the cell that the arithmetic is shown of.

    The colours are those of the grid, or of another range.
    """

    def choose(cell: MatrixCell | None) -> None:
        set_focus(None if cell is None else shown.position(cell))

    reasons = closed_cells(shown.maps)
    codes = sum((where * np.uint8(i) for i, where in enumerate(reasons.values(), start=1)), np.uint8(0))
    attention_matrix(
        values,
        query_tokens=list(map(visible, shown.maps.query_tokens)),
        key_tokens=list(map(visible, shown.maps.key_tokens)),
        colors=current_theme(),
        key=key,
        kind=coloring(shown.measure),
        closed=np.asarray(codes, np.uint8),
        reasons=[f"masked: {reason}" for reason in reasons],
        title=title,
        value_label="attention weight" if shown.measure == "weights" else f"score {shown.formula}",
        value_range=value_range or shown.color_range,
        selected=MatrixCell(*shown.cell),
        on_select=choose,
    )


def _looks(shown: Shown) -> dict[str, Any]:
    """What every figure of these maps has in common."""
    return {
        "query_tokens": shown.maps.query_tokens,
        "key_tokens": shown.maps.key_tokens,
        "theme": current_theme(),
        "quantity": QUANTITIES[shown.measure](shown.formula),
        "closed": closed_cells(shown.maps),
        "value_range": shown.color_range,
    }
