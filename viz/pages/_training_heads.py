"""All heads of a model at one moment of its training, and one of them large."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.model.trace import Trace
from transformer.text.coder import Unit
from viz.arrays import ATTENTION_LABELS, Attention, AttentionMaps, attention_maps
from viz.components.attention_grid import GridCell, attention_grid
from viz.components.attention_matrix import attention_matrix
from viz.figures.labels import visible
from viz.pages._attention_words import what
from viz.pooling import pool_maps
from viz.session import clamp_choice, current_theme, follow_default, set_choice

GRID_SIDE = 48
"""Pixels of one map in the grid, at most; a larger one is pooled to them."""
LAYER, HEAD = "watched_layer", "watched_head"
"""Keys of their own: a model that learns has other layers and heads than the one of the other pages."""


def pick_attention() -> Attention:
    """Draw the picker of the attention that is shown."""
    with st.container(width="content"):  # directly in a row, its buttons would be cut on a narrow screen
        attention: Attention = st.segmented_control(
            "Which attention",
            list(ATTENTION_LABELS),
            default="cross",
            required=True,
            format_func=ATTENTION_LABELS.__getitem__,
            key="attention",
            bind="query-params",
        )
    return attention


def heads_section(trace: Trace, attention: Attention, unit: Unit, look: str, key: str) -> None:
    """Draw all heads of an attention, and beside them the chosen one with its tokens.

    Args:
        trace: of a sentence in the model of that moment.
        attention: which.
        unit: what a token is.
        look: what there is to be found in it, Markdown of ours.
        key: what the views' keys begin with.
    """
    maps = attention_maps(trace, attention, "weights")
    left, right = st.columns([2, 3], gap="medium")
    with left:
        layer, head = _pick_head(*maps.values.shape[:2])
        _grid(maps, GridCell(layer, head), f"{key}_grid")
        st.markdown(f"**Look for** {look}")
    with right:
        st.markdown(f"**{ATTENTION_LABELS[attention]}, layer {layer}, head {head}**")
        _matrix(maps, GridCell(layer, head), f"{key}_head")
        st.markdown(what(attention, unit, by_words=False))


def _pick_head(n_layers: int, n_heads: int) -> tuple[int, int]:
    left, right = st.columns(2)
    last = n_layers - 1  # where cross-attention is clearest
    clamp_choice(LAYER, range(n_layers))
    follow_default(LAYER, last)
    clamp_choice(HEAD, range(n_heads))
    layer = left.selectbox("Layer", range(n_layers), index=last, key=LAYER, bind="query-params")
    head = right.selectbox("Head", range(n_heads), key=HEAD, bind="query-params")
    return layer, head


def _grid(maps: AttentionMaps, chosen: GridCell, key: str) -> None:
    n_layers, n_heads = maps.values.shape[:2]

    def choose(cell: GridCell) -> None:
        set_choice(LAYER, cell.layer)
        set_choice(HEAD, cell.head)

    attention_grid(
        pool_maps(maps.values, maps.allowed, GRID_SIDE),
        query_tokens=list(map(visible, maps.query_tokens)),
        key_tokens=list(map(visible, maps.key_tokens)),
        layer_labels=[f"layer {i}" for i in range(n_layers)],
        head_labels=[f"head {i}" for i in range(n_heads)],
        colors=current_theme(),
        key=key,
        title="Attention of every layer and head at this moment of the training",
        value_range=(0.0, 1.0),
        selected=chosen,
        on_select=choose,
    )


def _matrix(maps: AttentionMaps, chosen: GridCell, key: str) -> None:
    attention_matrix(
        maps.values[chosen.layer, chosen.head],
        query_tokens=list(map(visible, maps.query_tokens)),
        key_tokens=list(map(visible, maps.key_tokens)),
        colors=current_theme(),
        key=key,
        closed=np.where(maps.allowed, 0, 1).astype(np.uint8),
        reasons=["masked: comes after the query"],
        title=f"Layer {chosen.layer}, head {chosen.head}",
        value_range=(0.0, 1.0),
    )
