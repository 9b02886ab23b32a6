"""The ways to look at a chosen head: alone, beside its layer's heads, beside an untrained model's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    Attention,
    AttentionMaps,
    Measure,
    Words,
    attention_maps,
    attention_record,
    by_word,
    closed_cells,
    score_expression,
)
from transformer.model.attention import scaled_dot_product_attention
from transformer.run import Run
from viz.figures import attention as figures
from viz.pages.explore.arithmetic import show_arithmetic
from viz.pages.explore.session import choose_cell
from viz.pages.explore.word_arithmetic import show_word_arithmetic
from viz.pages.shared import attention_views
from viz.pages.shared.attention_views import color_range
from viz.pages.shared.explain import computed_by
from viz.pages.shared.figure import save_menu
from viz.session import current_choice, current_model, current_theme, twin_run
from viz.text_session import current_texts
from viz.widgets import HEAD

MATRICES_UP_TO = 48
"""Tokens a side up to which the heads of a layer are drawn with their tokens; longer ones without."""
WORDLESS_SIDE = 128
"""Pixels that such a map is pooled to."""
RANDOM_SEED = 1


@dataclass(frozen=True)
class Shown:
    """What is to be drawn: one attention of a run, in one measure, with the head and cell that are chosen.

    Attributes:
        words: of the queries and of the keys, where words stand for their sub-words.
    """

    run: Run
    attention: Attention
    maps: AttentionMaps
    layer: int
    head: int
    cell: tuple[int, int]
    words: tuple[Words, Words] | None

    def maps_of(self, run: Run, measure: Measure) -> AttentionMaps:
        """The same attention of a run with the same tokens, between words where these maps are."""
        maps = attention_maps(run.trace, self.attention, measure)
        return by_word(maps, *self.words) if self.words else maps

    @property
    def path(self) -> str:
        """Where the attention of the chosen layer is recorded."""
        return attention_record(self.run.trace, self.attention, self.layer).path

    @property
    def formula(self) -> str:
        """How the model computes a score; empty for maps of weights."""
        if self.maps.measure == "weights":
            return ""
        return score_expression(current_model().model.config, self.attention)

    @property
    def layer_title(self) -> str:
        """Which heads are shown, in words."""
        return f"{ATTENTION_LABELS[self.attention]}, layer {self.layer}"

    @property
    def title(self) -> str:
        """Which head is shown, in words."""
        return f"{self.layer_title}, head {self.head}"

    def save(self, kind: str, make_figure: Callable[..., Any], key: str, values: Any, **looks: Any) -> None:
        """Draw the Save menu of what is shown.

        Args:
            kind: of the picture, for the file's name.
            make_figure: a function of `viz.figures.attention`.
            key: of the menu.
            values: what it draws.
            looks: arguments that differ from those that all figures of these maps have in common.
        """
        maps = self.maps
        common = {
            "query_tokens": maps.query_tokens,
            "key_tokens": maps.key_tokens,
            "theme": current_theme(),
            "quantity": figures.quantity_of(maps.measure, self.formula),
            "closed": closed_cells(maps),
            "value_range": color_range(maps),
            "title": self.title,
        }
        by = "-by-word" if self.words else ""
        save_menu(
            lambda: make_figure(values, **common | looks),
            name=f"{self.attention}-attention-{maps.measure}{by}-layer{self.layer}{kind}",
            key=key,
        )

    def computed_by(self) -> None:
        """Name the code that computed what is shown."""
        if self.words:
            computed_by(by_word, f"{self.path}.weights")
        else:
            computed_by(scaled_dot_product_attention, self.path)


def one_head(shown: Shown) -> None:
    """The chosen head large, and the arithmetic of the chosen cell."""
    _matrix(shown, shown.maps, shown.head, "head_matrix", shown.title)
    values = shown.maps.values[shown.layer, shown.head]
    shown.save(f"-head{shown.head}", figures.attention_heatmap, "save_head", values)
    if shown.words:
        record = attention_record(shown.run.trace, shown.attention, shown.layer)
        show_word_arithmetic(record, shown.head, *shown.words, shown.cell)
    else:
        show_arithmetic(shown.run.trace, shown.attention, shown.layer, shown.head, shown.cell)


def side_by_side(shown: Shown) -> None:
    """All heads of the chosen layer."""
    maps = shown.maps
    if max(maps.allowed.shape) > MATRICES_UP_TO:
        _heads_without_tokens(shown)
    else:
        for start in range(0, maps.n_heads, 2):
            for head, column in zip(range(start, maps.n_heads), st.columns(2), strict=False):
                with column:
                    st.markdown(f"**Head {head}**")
                    _matrix(shown, maps, head, f"head_matrix_{head}", f"layer {shown.layer}, head {head}")
    shown.save(
        "-all-heads", figures.side_by_side, "save_layer", maps.values[shown.layer], title=shown.layer_title
    )


def _heads_without_tokens(shown: Shown) -> None:
    layer = slice(shown.layer, shown.layer + 1)
    attention_views.grid(
        replace(shown.maps, values=shown.maps.values[layer]),
        shown.layer,
        shown.head,
        HEAD.choose,
        key="layer_grid",
        value_range=color_range(shown.maps),
        side=WORDLESS_SIDE,
        first_layer=shown.layer,
    )


def lines(shown: Shown) -> None:
    """All heads of the chosen layer as lines from the tokens that look to the tokens they look at."""
    if shown.maps.measure != "weights":
        st.caption("Lines show weights, whatever is chosen above: a score below 0 has no width.")
    maps = shown.maps_of(shown.run, "weights")
    attention_views.lines(maps, shown.layer, shown.cell, key="lines")
    shown.save(
        "-lines",
        figures.side_by_side,
        "save_lines",
        maps.values[shown.layer],
        quantity=figures.WEIGHTS,
        value_range=None,
    )


def trained_and_random(shown: Shown) -> None:
    """The chosen head beside the same head of a model with the same sizes and random weights."""
    twin = shown.maps_of(twin_run(current_choice(), *current_texts(), RANDOM_SEED), shown.maps.measure)
    chosen = shown.layer, shown.head
    only = replace(twin, values=twin.values[shown.layer : shown.layer + 1, shown.head : shown.head + 1])
    (low, high), (random_low, random_high) = color_range(shown.maps), color_range(only)
    shared = min(low, random_low), max(high, random_high)
    left, right = st.columns(2)
    with left:
        st.markdown("**The chosen model**")
        _matrix(shown, shown.maps, shown.head, "chosen_matrix", "the chosen model", shared)
    with right:
        st.markdown("**Random weights**, nothing learned")
        _matrix(shown, twin, shown.head, "random_matrix", "the same model with random weights", shared)
    st.markdown(
        "Both have the same sizes, read the same sentence and are given the same target. What both show "
        "comes from the architecture and the positions; what only the trained one shows was learned."
    )
    shown.save(
        f"-head{shown.head}-and-random",
        figures.side_by_side,
        "save_comparison",
        np.stack([shown.maps.values[chosen], twin.values[chosen]]),
        value_range=shared,
        headings=("trained", "random: not trained"),
    )


VIEWS: dict[str, Callable[[Shown], None]] = {
    "One head": one_head,
    "Side by side": side_by_side,
    "Lines": lines,
    "Beside random": trained_and_random,
}

BESIDE_THE_GRID = ("One head", "Lines")
"""The views that fit beside the grid of heads; the others take the page's whole width."""


def _matrix(
    shown: Shown,
    maps: AttentionMaps,
    head: int,
    key: str,
    title: str,
    value_range: tuple[float, float] | None = None,
) -> None:
    """One head as a matrix with its tokens; a click chooses the cell that the arithmetic is shown of.

    The colours are those of the grid, or of another range.
    """

    def choose(cell: tuple[int, int] | None) -> None:
        if cell is not None and shown.words is not None:  # a cell is kept by tokens: the words' first ones
            queries, keys = shown.words
            cell = queries.tokens(cell[0])[0], keys.tokens(cell[1])[0]
        choose_cell(cell)

    attention_views.matrix(
        maps,
        shown.layer,
        head,
        key=key,
        title=title,
        formula=shown.formula,
        value_range=value_range or color_range(shown.maps),
        cell=shown.cell,
        choose=choose,
    )
