"""The attention of one run: every head at a glance, one of them in depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from transformer.run import Run
from transformer.text.coder import Unit
from viz.arrays import (
    ATTENTION_LABELS,
    MEASURE_LABELS,
    Attention,
    AttentionMaps,
    Measure,
    attention_maps,
    attention_words,
    attentions,
    by_word,
    strongest_cell,
)
from viz.components.attention_grid import GridCell, attention_grid
from viz.figures.labels import visible
from viz.figures.scales import color_range
from viz.pages._attention_views import BESIDE_THE_GRID, VIEWS, Shown, coloring
from viz.pages._attention_words import look_for, what
from viz.pages._kinds import goes_into_italian
from viz.pooling import pool_maps
from viz.session import clamp_choice, current_model, current_theme, focus, set_choice, token_unit

BY_LABELS = {"sub-word": "Each sub-word", "word": "Each word"}
BY_NOTE = (
    "The model reads and writes sub-words. By word, the weights of a key's sub-words add up and those of a "
    "query's are averaged: a row still sums to 1. Scores can't be added up, so they are by sub-word only."
)
GRID_SIDE = 48
"""Pixels of one map in the grid, at most; a larger one is pooled to them."""


@st.fragment
def attention_section(run: Run) -> None:
    """Draw the section; what is picked in it draws only this section again."""
    st.header("Attention")
    attention, measure, by_words = _pick_maps(run)
    maps = attention_maps(run.trace, attention, measure)
    cell = focus(*maps.values.shape[2:])
    words = attention_words(run, attention) if by_words else None
    if words:
        maps = by_word(maps, *words)
        cell = cell and (int(words[0].word_of[cell[0]]), int(words[1].word_of[cell[1]]))
    n_layers, n_heads = maps.values.shape[:2]
    left, right = st.columns([2, 3], gap="medium")
    with left:
        layer, head = _pick_head(n_layers, n_heads)
        _grid(maps, measure, layer, head)
    with right:
        view = _pick("View", {view: view for view in VIEWS}, "view", "One head", label_visibility="collapsed")
    cell = cell or strongest_cell(maps, layer, head)
    shown = Shown(run, attention, measure, maps, layer, head, cell, words)
    with right if view in BESIDE_THE_GRID else st.container():
        VIEWS[view](shown)
    with left if view in BESIDE_THE_GRID else right:
        unit: Unit = "word" if by_words else token_unit()
        loaded = current_model()
        kind = loaded.model.config.kind
        st.markdown(what(attention, unit, by_words=by_words, kind=kind))
        st.markdown(f"**Look for** {look_for(attention, unit, into_italian=goes_into_italian(loaded))}")


def _pick_maps(run: Run) -> tuple[Attention, Measure, bool]:
    """Which attention, in which measure, and whether words stand for their sub-words."""
    by = None
    labels = {attention: ATTENTION_LABELS[attention] for attention in attentions(run.trace)}
    clamp_choice("attention", list(labels))
    with st.container(horizontal=True, gap="medium"):
        first = "cross" if "cross" in labels else next(iter(labels))
        attention = _pick("Which attention", labels, "attention", first)
        measure = _pick("What each cell shows", MEASURE_LABELS, "measure", "weights")
        if token_unit() == "sub-word":
            weightless = measure != "weights"
            by = _pick(
                "A row and a column for", BY_LABELS, "by", "sub-word", disabled=weightless, help=BY_NOTE
            )
    if by == "word" and measure != "weights":
        st.caption("Scores can't be added up, so they are shown for each sub-word.")
    return attention, measure, by == "word" and measure == "weights"


def _pick(label: str, labels: Mapping[Any, str], key: str, default: Any, **looks: Any) -> Any:
    with st.container(width="content"):  # directly in a row, its buttons would be cut on a narrow screen
        return st.segmented_control(
            label,
            list(labels),
            default=default,
            required=True,
            format_func=labels.__getitem__,
            key=key,
            bind="query-params",
            **looks,
        )


def _pick_head(n_layers: int, n_heads: int) -> tuple[int, int]:
    left, right = st.columns(2)
    clamp_choice("layer", range(n_layers))
    clamp_choice("head", range(n_heads))
    last = n_layers - 1  # where cross-attention is clearest
    layer = left.selectbox("Layer", range(n_layers), index=last, key="layer", bind="query-params")
    head = right.selectbox("Head", range(n_heads), key="head", bind="query-params")
    return layer, head


def _grid(maps: AttentionMaps, measure: Measure, layer: int, head: int) -> None:
    n_layers, n_heads = maps.values.shape[:2]

    def choose(cell: GridCell) -> None:
        set_choice("layer", cell.layer)
        set_choice("head", cell.head)

    attention_grid(
        pool_maps(maps.values, maps.allowed, GRID_SIDE),
        query_tokens=list(map(visible, maps.query_tokens)),
        key_tokens=list(map(visible, maps.key_tokens)),
        layer_labels=[f"layer {i}" for i in range(n_layers)],
        head_labels=[f"head {i}" for i in range(n_heads)],
        colors=current_theme(),
        key="grid",
        title="Attention of every layer and head",
        value_label="attention weight" if measure == "weights" else "score",
        kind=coloring(measure),
        value_range=color_range(maps.values, signed=coloring(measure) == "scores"),
        selected=GridCell(layer, head),
        on_select=choose,
    )
