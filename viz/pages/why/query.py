"""The pickers of a head and of a query."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    MODULES,
    attention_record,
    attentions,
    n_layers,
)
from transformer.analysis.interventions.heads import HeadPlace
from transformer.analysis.ledgers.logit import output_stack
from viz.pages.why.asked import Asked
from viz.pages.why.effects import cell_on_explore, opened_head
from viz.widgets import follow_default, pick, pick_attention, pick_token


def pick_query(
    asked: Asked, name: str, widths: Sequence[int], first: HeadPlace | None
) -> tuple[HeadPlace, int, list[DeltaGenerator]]:
    """Draw the pickers; the query is at first the row that chooses the word, where the attention has it.

    Elsewhere it is the one chosen on Explore, or the first.

    Args:
        asked: the question.
        name: begins the pickers' names in the address.
        widths: of the columns for layer, head, query, and what the caller adds.
        first: the head that the pickers begin with; None for the first of all.

    Returns:
        The head, the query's position, and the columns that are left.
    """
    trace = asked.run.trace
    if first is not None:
        _begin_with(name, first, is_opened=first == opened_head(asked))
    attention = pick_attention(attentions(trace), preferred="cross", key=f"{name}_attention")
    left, middle, right, *others = st.columns(widths)
    layer = pick(left.selectbox, "Layer", range(n_layers(trace, attention)), key=f"{name}_layer")
    record = attention_record(trace, attention, layer)
    head = pick(middle.selectbox, "Head", range(record.weights.shape[1]), key=f"{name}_head")
    place = HeadPlace(attention, layer, head)
    chooses = MODULES[attention][0] == output_stack(asked.loaded.model.config)
    cell = cell_on_explore(asked, place)
    row = asked.question.rows[0] if chooses else cell[0] if cell else 0
    follow_default(f"{name}_query", row)
    label = "Query: the token that looks"
    query = pick_token(right.selectbox, label, record.query_tokens[0], key=f"{name}_query", default=row)
    return place, query, others


def _begin_with(name: str, first: HeadPlace, *, is_opened: bool) -> None:
    """Move the pickers to their first head.

    An address takes precedence. A head chosen in the pickers stays until the user opens another elsewhere.
    """
    state, known = st.session_state, f"first head of {name}"
    values = {f"{name}_{part}": value for part, value in first._asdict().items()}
    if not any(key in state for key in values):
        moves = not any(key in st.query_params for key in values)
        if moves:  # Streamlit itself writes no value to the address that is set before a picker's first run
            written = (ATTENTION_LABELS[first.attention], str(first.layer), str(first.head))
            st.query_params.update(zip(values, written, strict=True))
    else:
        before: HeadPlace = state.get(known, first)
        is_untouched = tuple(state.get(key) for key in values) == before
        moves = before != first and (is_opened or is_untouched)
    if moves:
        state.update(values)
    state[known] = first
