"""What a score of attention is the sum of: why a head looks there."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.attention_maps import attention_record
from transformer.analysis.interventions.heads import HeadPlace
from transformer.analysis.ledgers.score import ScoreLedger, score_ledger
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import show, wide
from viz.pages.why.asked import Asked
from viz.pages.why.effects import cell_on_explore, costliest_head, opened_head
from viz.pages.why.query import pick_query
from viz.run_figures.ledgers import DIVISIONS, Division, difference, score_figure, score_sums
from viz.widgets import follow_default, pick_button, pick_token

PARTS: list[Division] = ["sublayer", "head"]


@st.fragment
def score_part(asked: Asked) -> None:
    """Draw this part of the section; a choice in it redraws only this part."""
    st.header("Why does a head look there?")
    prose(
        "A head's score is the product of a query and a key. Each of the two is a sum as well: of the token, "
        "its position, and everything that earlier heads and feed-forwards added there. So the score is the "
        "sum of every part of the query times every part of the key."
    )
    place, query, key = _pick(asked)
    ledger = score_ledger(asked.loaded, asked.run, place, query, key)
    division = pick_button(
        st.container(width="content").segmented_control,
        "One row and column per",
        {one: DIVISIONS[one] for one in PARTS},
        key="score_by",
    )
    _matrix(asked, ledger, place, (query, key), division)
    computed_by(score_ledger)


def _pick(asked: Asked) -> tuple[HeadPlace, int, int]:
    """Draw the pickers of head, query and key."""
    opened = opened_head(asked)
    first = opened or costliest_head(asked)
    place, query, (beside,) = pick_query(asked, "score", [1, 1, 2, 2], first)
    record = attention_record(asked.run.trace, place.attention, place.layer)
    weights = record.weights[0, place.head, query]
    cell = cell_on_explore(asked, place)
    default = cell[1] if cell and cell[0] == query else int(weights.argmax())
    follow_default("score_key", default)
    key = pick_token(
        beside.selectbox,
        "Key: the token that is looked at",
        record.key_tokens[0],
        key="score_key",
        default=default,
    )
    if place == first:
        known = "that was open last, here or on Explore" if opened else "without which the answer falls most"
        st.caption(f"This is the head {known}.")
    best = int(weights.argmax())
    others = f"most weight, {number(float(weights[best]), 3)}, goes to {quoted(record.key_tokens[0][best])}"
    st.markdown(
        f"Here the head gives {quoted(record.key_tokens[0][key])} a weight of "
        f"**{number(float(weights[key]), 3)}**; {'no other key gets more' if key == best else others}."
    )
    return place, query, key


def _matrix(
    asked: Asked, ledger: ScoreLedger, place: HeadPlace, positions: tuple[int, int], division: Division
) -> None:
    rows, columns, values = score_sums(ledger, asked.run, place.attention, positions, division)
    best = np.unravel_index(int(values.argmax()), values.shape)
    bias = f", and the bias by distance {number(ledger.position_bias, 3)}" if ledger.position_bias else ""
    capped = " before the soft cap" if asked.loaded.model.config.attention_soft_cap else ""
    st.markdown(
        f"The {ledger.values.size:,} products{bias} sum to **{number(ledger.total, 4)}**. The model computed "
        f"a score of **{number(ledger.recorded, 4)}**{capped}. Difference: "
        f"{difference(ledger.total, ledger.recorded)}. Largest cell: {quoted(rows[best[0]])} of the query "
        f"with {quoted(columns[best[1]])} of the key, {number(float(values[best]), 2)}."
    )
    with wide("why_score_map", columns, rows):
        show(
            score_figure(rows, columns, values, theme=asked.theme),
            name="score-parts",
            caption="Rows: what the query is made of. Columns: what the key is made of. Orange cells make "
            "the head look there, blue ones make it look away.",
            key="why_score",
        )
