"""How the weight between two words comes about from the weights between their sub-words."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.analysis.attention_maps import Words
from transformer.model.trace import AttentionRecord
from viz.figures.labels import visible
from viz.figures.numbers import number

MOST = 4
"""Terms of a sum, and sums, that are written out; of more, those before the last are left out."""


def show_word_arithmetic(
    record: AttentionRecord, head: int, queries: Words, keys: Words, cell: tuple[int, int]
) -> None:
    """Show how the weight of a cell between two words, (query word, key word), is made of the model's own."""
    looking, looked_at = queries.tokens(cell[0]), keys.tokens(cell[1])
    weights = record.weights[0, head].numpy()[np.ix_(looking, looked_at)]
    st.markdown(
        "**The arithmetic of one cell.** Click another cell to see its own. The model knows sub-words only: "
        "what it gives to the parts of a key is added up, and what the parts of a query give is averaged."
    )
    st.text(
        f"query {_word(queries, cell[0], record.query_tokens[0])}\n"
        f"looks at key {_word(keys, cell[1], record.key_tokens[0])}"
    )
    st.latex(word_weight_formula(weights, looking[0]))
    st.caption(
        "Scores and the softmax are those of sub-words: choose **Each sub-word** above to follow them."
    )


def word_weight_formula(weights: NDArray[np.float32], first: int) -> str:
    """The mean over a query's sub-words (rows) of the sums over a key's (columns), with numbers, in LaTeX.

    Args:
        weights: (q, k) between the sub-words of two words.
        first: the position of the query's first sub-word.
    """
    sums = weights.sum(axis=1)
    lines = [
        _line(rf"\text{{from {first + i}: }}", _sum(row), row.sum(), len(row))
        for i, row in enumerate(weights)
    ]
    if len(lines) > 1:
        mean = rf"\frac{{{_sum(sums)}}}{{{len(sums)}}}"
        lines = [*_shortened(lines, r"& \dots"), _line(r"\text{weight: }", mean, sums.mean(), len(sums))]
    return r"\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}"


def _line(name: str, calculation: str, result: float, n_terms: int) -> str:
    """A calculation, and its result below it, so that a narrow screen holds both."""
    return rf"{name} & {calculation}" + (rf" \\ & = {number(result)}" if n_terms > 1 else "")


def _sum(numbers: NDArray[np.float32]) -> str:
    return " + ".join(_shortened([number(term) for term in numbers], r"\dots"))


def _shortened(parts: list[str], gap: str) -> list[str]:
    return parts if len(parts) <= MOST else [*parts[: MOST - 1], gap, parts[-1]]


def _word(words: Words, number: int, tokens: tuple[str, ...]) -> str:
    positions = words.tokens(number)
    parts = " ".join(visible(tokens[position]) for position in positions)
    return f"word {number}, “{visible(words.labels[number])}” ({_span(positions)}: {parts})"


def _span(positions: range) -> str:
    if len(positions) == 1:
        return f"sub-word {positions[0]}"
    return f"sub-words {positions[0]} to {positions[-1]}"
