"""The attention of one run: every head at a glance, one of them in depth."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.attention_maps import (
    MEASURE_LABELS,
    Attention,
    Measure,
    attention_maps,
    attention_words,
    attentions,
    by_word,
    strongest_cell,
)
from transformer.run import Run
from transformer.text.coder import Unit
from viz.pages.explore.session import chosen_cell
from viz.pages.explore.views import BESIDE_THE_GRID, VIEWS, Shown
from viz.pages.shared import attention_views
from viz.pages.shared.attention_views import color_range
from viz.pages.shared.attention_words import look_for, what
from viz.pages.shared.model_words import goes_into_italian
from viz.session import current_model, token_unit
from viz.widgets import HEAD, in_a_row, pick_attention, pick_button

BY_LABELS = {"sub-word": "Each sub-word", "word": "Each word"}
BY_NOTE = (
    "The model reads and writes sub-words. By word, the weights of a key's sub-words add up and those of a "
    "query's are averaged: a row still sums to 1. Scores can't be added up, so they are by sub-word only."
)


@st.fragment
def attention_section(run: Run) -> None:
    """Draw the section; what is picked in it draws only this section again."""
    st.header("Attention")
    attention, measure, by_words = _pick_maps(run)
    maps = attention_maps(run.trace, attention, measure)
    cell = chosen_cell(*maps.allowed.shape)
    words = attention_words(run, attention) if by_words else None
    if words:
        maps = by_word(maps, *words)
        cell = cell and (int(words[0].word_of[cell[0]]), int(words[1].word_of[cell[1]]))
    left, right = st.columns([2, 3], gap="medium")
    with left:
        layer, head = HEAD.pick(maps.n_layers, maps.n_heads)
        attention_views.grid(
            maps,
            layer,
            head,
            HEAD.choose,
            key="grid",
            title="Attention of every layer and head",
            value_range=color_range(maps),
        )
    with right:
        names = {view: view for view in VIEWS}
        view = pick_button(in_a_row(), "View", names, key="view", label_visibility="collapsed")
    cell = cell or strongest_cell(maps, layer, head)
    shown = Shown(run, attention, maps, layer, head, cell, words)
    with right if view in BESIDE_THE_GRID else st.container():
        VIEWS[view](shown)
        shown.computed_by()
    with left if view in BESIDE_THE_GRID else right:
        unit: Unit = "word" if by_words else token_unit()
        loaded = current_model()
        kind = loaded.model.config.kind
        st.markdown(what(attention, unit, by_words=by_words, kind=kind))
        st.markdown(f"**Look for** {look_for(attention, unit, into_italian=goes_into_italian(loaded))}")


def _pick_maps(run: Run) -> tuple[Attention, Measure, bool]:
    """Which attention, in which measure, and whether words stand for their sub-words."""
    by = "sub-word"
    with st.container(horizontal=True, gap="medium"):
        attention = pick_attention(attentions(run.trace))
        measure = pick_button(in_a_row(), "What each cell shows", MEASURE_LABELS, key="measure")
        if token_unit() == "sub-word":
            by = pick_button(
                in_a_row(),
                "A row and a column for",
                BY_LABELS,
                key="by",
                disabled=measure != "weights",
                help=BY_NOTE,
            )
    if by == "word" and measure != "weights":
        st.caption("Scores can't be added up, so they are shown for each sub-word.")
    return attention, measure, by == "word" and measure == "weights"
