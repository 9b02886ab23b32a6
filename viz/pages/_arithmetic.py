"""The arithmetic behind one cell of an attention map, with the numbers of this run."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.attention import scaled_dot_product_attention
from transformer.trace import Trace
from viz.arrays import Attention, attention_record
from viz.figures.dot_product import dot_product_terms
from viz.figures.labels import visible
from viz.pages._explain import computed_by
from viz.pages._figure import show
from viz.session import current_theme

READABLE_EXPONENT = 6.0
"""Above it the row's largest score is subtracted first, as the softmax does: e^6 is 403, e^20 unreadable."""


def show_arithmetic(trace: Trace, attention: Attention, layer: int, head: int, cell: tuple[int, int]) -> None:
    """Show how the weight of a (query, key) cell of a batch's first sentence comes about.

    Equation 1 of the paper, with this cell's numbers in it.
    """
    record = attention_record(trace, attention, layer)
    i, j = cell
    q, k = (x.numpy() for x in (record.q[0, head, i], record.k[0, head, j]))
    scores = record.scores[0, head, i].numpy()  # (K,)
    allowed = record.mask[0, 0, i].numpy()  # (K,)
    weight = float(record.weights[0, head, i, j])
    st.markdown("**The arithmetic of one cell.** Click another cell to see its own.")
    st.text(
        f"query {i}, “{visible(record.query_tokens[0][i])}”, "
        f"looks at key {j}, “{visible(record.key_tokens[0][j])}”"
    )
    st.latex(score_formula(float(q @ k), len(q), float(scores[j])))
    st.latex(weight_formula(scores, allowed, j, weight))
    terms = st.expander("Every term of this dot product", key="dot_product_terms", on_change="rerun")
    if terms.open:
        with terms:
            show(
                dot_product_terms(q, k, theme=current_theme()),
                name=f"dot-product-layer{layer}-head{head}",
                caption="Each dimension adds its term; the line, their sum so far, ends at the score.",
                key="dot_product",
            )
    computed_by(scaled_dot_product_attention, record.path)


def score_formula(dot: float, d_head: int, score: float) -> str:
    """q k / sqrt(d_head) with its numbers, in LaTeX."""
    return (
        r"\text{score} = \frac{q \cdot k}{\sqrt{d_\text{head}}} = "
        rf"\frac{{{dot:.3f}}}{{\sqrt{{{d_head}}}}} = {score:.3f}"
    )


def weight_formula(scores: NDArray[np.float32], allowed: NDArray[np.bool_], j: int, weight: float) -> str:
    """The softmax of key j among the open keys of a row of scores (K,), with its numbers, in LaTeX."""
    if not allowed[j]:
        return r"\text{weight} = 0 \quad \text{(the mask closes this cell: the key comes after the query)}"
    largest = float(scores[allowed].max())
    shift = largest if largest > READABLE_EXPONENT else 0.0
    numerator, total = math.exp(scores[j] - shift), float(np.exp(scores[allowed] - shift).sum())
    minus, symbol = (f" - {shift:.3f}", r" - \text{largest}") if shift else ("", "")
    power = rf"e^{{\text{{score}}{symbol}}}"
    return (
        rf"\begin{{aligned}} \text{{weight}} &= \frac{{{power}}}{{\sum_{{\text{{open keys}}}} {power}}} \\"
        rf" &= \frac{{e^{{{scores[j]:.3f}{minus}}}}}{{{total:.3f}}}"
        rf" = \frac{{{numerator:.3f}}}{{{total:.3f}}} = {weight:.3f} \end{{aligned}}"
    )
