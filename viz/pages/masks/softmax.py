"""What a mask does to one query: its scores before and after, and the softmax with and without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.model.attention import masked_softmax
from transformer.model.trace import AttentionRecord
from viz.figures.masks import softmax_with_without
from viz.figures.numbers import number
from viz.pages.shared.explain import explain
from viz.pages.shared.figure import show
from viz.session import current_theme
from viz.widgets import HEAD


def softmax_section(
    records: Sequence[AttentionRecord], sentence: int, query: int, closed: Mapping[str, NDArray[np.bool_]]
) -> None:
    """Draw one row of one head.

    Args:
        records: the attention's record in each layer.
        sentence: the row of the batch.
        query: the position that looks.
        closed: reason -> (K,) True where the mask closes the key for this query.
    """
    st.header("One query, with and without the mask")
    left, right = st.columns(2)
    layer = HEAD.pick_layer(left.selectbox, len(records))
    head = HEAD.pick_head(right.selectbox, records[0].scores.shape[1])
    record = records[layer]
    row = record.scores[sentence, head, query]  # (K,)
    mask = record.mask[sentence, 0, query]
    weights = record.weights[sentence, head, query].numpy()
    without = masked_softmax(row, None).numpy()
    lost = float(without[~mask.numpy()].sum())
    explain(
        what="The mask turns the scores of closed keys into −∞, and e to the power of −∞ is 0: the "
        f"softmax shares the attention among the open keys alone. {_change(lost, bool(mask.all()))}",
        formula=_formula(row.numpy(), mask.numpy(), weights, without),
        look="the striped bars over closed keys: what they hold is given to the open ones, in proportion, "
        "so that the row sums to 1 again.",
        computed=masked_softmax,
        path=f"{record.path}.scores, {record.path}.weights",
    )
    show(
        softmax_with_without(
            row.numpy(), weights, without, closed, record.key_tokens[sentence], theme=current_theme()
        ),
        name=f"mask-softmax-{record.path}-head{head}-sentence{sentence + 1}-query{query}",
        caption="From top to bottom: the scores, the scores after the mask, and the softmax with the mask "
        "beside the one without it.",
        key="mask_softmax",
    )


def _change(lost: float, all_open: bool) -> str:
    if all_open:
        return "This query may look at every key, so here the mask changes nothing."
    return (
        f"Without the mask, **{lost:.1%}** of this query's attention would go to keys that it must not see."
    )


def _formula(
    scores: NDArray[np.floating],
    mask: NDArray[np.bool_],
    weights: NDArray[np.floating],
    without: NDArray[np.floating],
) -> str:
    """The weight of the strongest open key, over the open keys and over all; m is its own score."""
    if not mask.any():
        return r"\text{no key is open: the weights are all } 0"
    key = int(np.where(mask, scores, -np.inf).argmax())
    shifted = np.exp(scores.astype(np.float64) - scores[key])
    top, some, everything = (float(x) for x in (shifted[key], shifted[mask].sum(), shifted.sum()))
    return (
        rf"\begin{{gathered}} \text{{key }} {key}, \; m = s_{{{key}}} = {number(scores[key])} \\ "
        rf"\frac{{e^{{s_{{{key}}} - m}}}}{{\sum_{{\text{{open}}}} e^{{s_j - m}}}} = "
        rf"\frac{{{top:.4g}}}{{{some:.5g}}} = {weights[key]:.4f} \text{{ with the mask}} \\ "
        rf"\frac{{e^{{s_{{{key}}} - m}}}}{{\sum_{{\text{{all}}}} e^{{s_j - m}}}} = "
        rf"\frac{{{top:.4g}}}{{{everything:.5g}}} = {without[key]:.4f} \text{{ without it}} \end{{gathered}}"
    )
