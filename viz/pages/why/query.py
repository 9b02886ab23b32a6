"""The pickers of a head and of a query."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.analysis.attention_maps import MODULES, attention_record, attentions, n_layers
from transformer.analysis.interventions.heads import HeadPlace
from transformer.analysis.ledgers.logit import output_stack
from viz.pages.why.asked import Asked
from viz.widgets import follow_default, pick, pick_attention, pick_token


def pick_query(asked: Asked, name: str, widths: Sequence[int]) -> tuple[HeadPlace, int, list[DeltaGenerator]]:
    """Draw the pickers; the query is at first the row that chooses the word, where the attention has it.

    Args:
        asked: the question.
        name: begins the pickers' names in the address.
        widths: of the columns for layer, head, query, and what the caller adds.

    Returns:
        The head, the query's position, and the columns that are left.
    """
    trace = asked.run.trace
    attention = pick_attention(attentions(trace), preferred="cross", key=f"{name}_attention")
    left, middle, right, *others = st.columns(widths)
    layer = pick(left.selectbox, "Layer", range(n_layers(trace, attention)), key=f"{name}_layer")
    record = attention_record(trace, attention, layer)
    head = pick(middle.selectbox, "Head", range(record.weights.shape[1]), key=f"{name}_head")
    chooses = MODULES[attention][0] == output_stack(asked.loaded.model.config)
    row = asked.question.rows[0] if chooses else 0
    follow_default(f"{name}_query", row)
    label = "Query: the token that looks"
    query = pick_token(right.selectbox, label, record.query_tokens[0], key=f"{name}_query", default=row)
    return HeadPlace(attention, layer, head), query, others
