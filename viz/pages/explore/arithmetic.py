"""The arithmetic of one cell of an attention map, with the numbers of this run."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.analysis.attention_maps import Attention, attention_record
from transformer.model.trace import AttentionRecord, Trace
from viz.figures.dot_product import dot_product_terms
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.pages.shared.figure import show
from viz.session import current_model, current_theme

FUTURE, PADDING = "the key comes after the query", "the key is padding"
READABLE_EXPONENT = 6.0
"""Above it the row's largest score is subtracted first, as the softmax does: e^6 is 403, e^20 unreadable."""


def show_arithmetic(trace: Trace, attention: Attention, layer: int, head: int, cell: tuple[int, int]) -> None:
    """Show how the weight of a (query, key) cell of a batch's first sentence comes about.

    Equation 1 of the paper, as this model computes it, with this cell's numbers in it.
    """
    record = attention_record(trace, attention, layer)
    scaled = current_model().model.config.attention_scale
    i, j = cell
    shared = record.q.shape[1] // record.k.shape[1]  # heads of queries that one head of keys serves
    q, k = (x.numpy() for x in (record.q[0, head, i], record.k[0, head // shared, j]))
    bias = position_bias(trace, record.path, head, cell)
    scores = record.scores[0, head, i].numpy()  # (K,)
    allowed = record.mask[0, 0, i].numpy()  # (K,)
    weight = float(record.weights[0, head, i, j])
    st.markdown("**The arithmetic of one cell.** Click another cell to see its own.")
    st.text(
        f"query {i}, “{visible(record.query_tokens[0][i])}”, "
        f"looks at key {j}, “{visible(record.key_tokens[0][j])}”"
    )
    st.latex(score_formula(float(q @ k), len(q), float(scores[j]), scaled=scaled, bias=bias))
    _what_is_special(trace, record, head, cell, scaled=scaled, biased=bias is not None)
    is_future = attention == "decoder" and j > i
    st.latex(weight_formula(scores, allowed, j, weight, reason=FUTURE if is_future else PADDING))
    terms = st.expander("Every term of this dot product", key="dot_product_terms", on_change="rerun")
    if terms.open:
        with terms:
            show(
                dot_product_terms(q, k, theme=current_theme(), scaled=scaled),
                name=f"dot-product-layer{layer}-head{head}",
                caption="Each dimension adds its term; the line, their sum so far, ends at the score"
                + (" without the bias b." if bias is not None else "."),
                key="dot_product",
            )


def position_bias(trace: Trace, path: str, head: int, cell: tuple[int, int]) -> float | None:
    """What was added to the score of a (query, key) cell for its distance; None in a model without."""
    recorded = trace.get(f"{path}.position_bias")  # (1, H, Q, K)
    return None if recorded is None else float(recorded[0, head, cell[0], cell[1]])


def score_formula(
    dot: float, d_head: int, score: float, *, scaled: bool = True, bias: float | None = None
) -> str:
    """q k / sqrt(d_head), and what is added for the distance, with its numbers, in LaTeX."""
    names, numbers = r"q \cdot k", number(dot)
    if scaled:
        names = rf"\frac{{{names}}}{{\sqrt{{d_\text{{head}}}}}}"
        numbers = rf"\frac{{{numbers}}}{{\sqrt{{{d_head}}}}}"
    if bias is not None:
        names, numbers = names + " + b", numbers + (" + " if bias >= 0 else " - ") + number(abs(bias))
    return rf"\text{{score}} = {names} = {numbers} = {number(score)}"


def _what_is_special(
    trace: Trace, record: AttentionRecord, head: int, cell: tuple[int, int], *, scaled: bool, biased: bool
) -> None:
    """Say how this attention differs from equation 1."""
    (i, j), notes = cell, []
    before, shared = turned_from(trace, record.path, head, cell), record.q.shape[1] // record.k.shape[1]
    if biased:
        notes.append(
            f"b is what this head learned to add for a key {distance(j - i)}, whatever the tokens are."
        )
    if f"{record.path}.q_norm.result" in trace:
        notes.append("Each head's queries and keys were normed first (page Layer norm).")
    if not scaled:
        notes.append("This model was trained without the division by √d_head.")
    if before is not None:
        notes.append(
            f"q and k are turned by their positions, {i} and {j} (rotary positions): before, q · k was "
            f"{number(before)}. What the turning changes depends on their distance alone."
        )
    if shared > 1:
        first = head // shared * shared
        notes.append(
            f"Heads {first} to {first + shared - 1} share one head of keys and values, number "
            f"{head // shared}; each has queries of its own."
        )
    if notes:
        st.caption(" ".join(notes))


def turned_from(trace: Trace, path: str, head: int, cell: tuple[int, int]) -> float | None:
    """q k of a (query, key) cell before both were turned by their positions; None where they are not."""
    q, k = trace.get(f"{path}.q_unrotated"), trace.get(f"{path}.k_unrotated")  # (1, H or fewer, T, d_head)
    if q is None or k is None:
        return None
    return float(q[0, head, cell[0]] @ k[0, head // (q.shape[1] // k.shape[1]), cell[1]])


def distance(offset: int) -> str:
    """Where a key stands that is so many positions after its query, in words."""
    if offset == 0:
        return "at the query's own position"
    unit = "position" if abs(offset) == 1 else "positions"
    return f"{abs(offset)} {unit} {'after' if offset > 0 else 'before'} the query"


def weight_formula(
    scores: NDArray[np.float32], allowed: NDArray[np.bool_], j: int, weight: float, *, reason: str = FUTURE
) -> str:
    """The softmax of key j among the open keys of a row of scores (K,), with its numbers, in LaTeX.

    `reason` says of a closed cell why it is.
    """
    if not allowed[j]:
        return rf"\text{{weight}} = 0 \quad \text{{(the mask closes this cell: {reason})}}"
    largest = float(scores[allowed].max())
    shift = largest if largest > READABLE_EXPONENT else 0.0
    numerator, total = math.exp(scores[j] - shift), float(np.exp(scores[allowed] - shift).sum())
    minus, symbol = (f" - {number(shift)}", r" - \text{largest}") if shift else ("", "")
    power = rf"e^{{\text{{score}}{symbol}}}"
    return (
        rf"\begin{{aligned}} \text{{weight}} &= \frac{{{power}}}{{\sum_{{\text{{open keys}}}} {power}}} \\"
        rf" &= \frac{{e^{{{number(scores[j])}{minus}}}}}{{{total:.3f}}}"
        rf" = \frac{{{numerator:.3f}}}{{{total:.3f}}} = {weight:.3f} \end{{aligned}}"
    )
