"""The effect of a mask on one query: its scores before and after, and the softmax with and without it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.attention_maps import attention_record, n_layers
from transformer.analysis.masks import SoftmaxRow, softmax_row
from transformer.model.attention import masked_softmax
from viz.figures.numbers import number
from viz.pages.masks.batch import BatchRun, pick_row
from viz.pages.shared.explain import explain
from viz.pages.shared.figure import show
from viz.run_figures.masks import softmax_figure
from viz.widgets import HEAD


@st.fragment
def softmax_section(batch: BatchRun) -> None:
    """Draw one row of one head; a choice redraws only this section."""
    trace = batch.trace
    st.header("One query, with and without the mask")
    attention, sentence, query = pick_row(trace)
    left, right = st.columns(2)
    layer = HEAD.pick_layer(left.selectbox, n_layers(trace, attention), batch.first_layer(attention))
    record = attention_record(trace, attention, layer)
    head = HEAD.pick_head(right.selectbox, record.scores.shape[1])
    row = softmax_row(trace, attention, layer, head, query, sentence)
    lost = float(row.without_mask[~row.allowed].sum())
    explain(
        what="The mask sets the scores of closed keys to −∞, and e to the power of −∞ is 0: the "
        f"softmax divides the attention among the open keys alone. {_change(lost, bool(row.allowed.all()))}",
        formula=_formula(row),
        look="the striped bars over closed keys: with the mask their weight goes to the open ones, in "
        "proportion, so that the row still sums to 1.",
        computed=masked_softmax,
        path=f"{record.path}.scores, {record.path}.weights",
    )
    show(
        softmax_figure(row, theme=batch.theme),
        name=f"mask-softmax-{record.path}-head{head}-sentence{sentence + 1}-query{query}",
        caption="From top to bottom: the scores, the scores after the mask, and the softmax with the mask "
        "next to the softmax without it.",
        key="mask_softmax",
    )


def _change(lost: float, all_open: bool) -> str:
    if all_open:
        return "This query may look at every key, so here the mask changes nothing."
    return (
        f"Without the mask, **{lost:.1%}** of this query's attention would go to keys that it must not see."
    )


def _formula(row: SoftmaxRow) -> str:
    """The weight of the highest-scoring open key, among open keys and among all; m is its score."""
    if not row.allowed.any():
        return r"\text{no key is open: the weights are all } 0"
    key = int(np.where(row.allowed, row.scores, -np.inf).argmax())
    shifted = np.exp(row.scores.astype(np.float64) - row.scores[key])
    top, some, everything = (float(x) for x in (shifted[key], shifted[row.allowed].sum(), shifted.sum()))
    return (
        rf"\begin{{gathered}} \text{{key }} {key}, \; m = s_{{{key}}} = {number(row.scores[key])} \\ "
        rf"\frac{{e^{{s_{{{key}}} - m}}}}{{\sum_{{\text{{open}}}} e^{{s_j - m}}}} = "
        rf"\frac{{{top:.4g}}}{{{some:.5g}}} = {row.weights[key]:.4f} \text{{ with the mask}} \\ "
        rf"\frac{{e^{{s_{{{key}}} - m}}}}{{\sum_{{\text{{all}}}} e^{{s_j - m}}}} = "
        rf"\frac{{{top:.4g}}}{{{everything:.5g}}} = {row.without_mask[key]:.4f} "
        r"\text{ without it} \end{gathered}"
    )
