"""The size of each token's embedding beside the size of the encoding added to it, in the loaded model."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from transformer.embedding import Embedding
from transformer.run import Run
from viz.figures import positions as figures
from viz.figures.labels import visible
from viz.pages._explain import explain
from viz.pages._figure import show
from viz.session import clamp_choice, current_model, current_theme

LOOK = {
    "sinusoidal": "which vectors are longest, and that the encoding has the same length at every position, "
    "√(d_model / 2), because sin² + cos² = 1: it changes direction, not size.",
    "learned": "which vectors are longest, and how the lengths of the learned vectors differ by position.",
}
SIDES = {"src_embedding": "Encoder input", "tgt_embedding": "Decoder input"}


@st.fragment
def sizes_section(run: Run) -> None:
    """Draw the sizes of one run; what is picked draws only this section again."""
    left, right = st.columns([2, 3])
    side = left.segmented_control(
        "Which input",
        list(SIDES),
        default="src_embedding",
        required=True,
        format_func=SIDES.__getitem__,
        key="pe_side",
        bind="query-params",
    )
    tokens = (run.trace.src_tokens if side == "src_embedding" else run.trace.tgt_tokens)[0]
    vectors = run.trace[f"{side}.tokens"][0].numpy()  # (T, D), times sqrt(d_model) already
    encodings = run.trace[f"{side}.positions"][0].numpy()  # (T, D)
    clamp_choice("pe_token", range(len(tokens)))
    token = right.selectbox(
        "Token of the formula",
        range(len(tokens)),
        format_func=lambda position: f"{position}: {visible(tokens[position])}",
        key="pe_token",
        bind="query-params",
    )
    kind = current_model().model.config.positions
    token_norms, position_norms = (np.linalg.norm(rows, axis=1) for rows in (vectors, encodings))
    explain(
        what="The model that is loaded adds the two: each token's embedding, times √d_model, and the "
        f"{kind} encoding of its place. Here the embeddings are "
        f"{token_norms.mean() / position_norms.mean():.2f} times as long as the encodings on average. "
        "Without the factor √d_model the tokens would drown.",
        formula=_formula(vectors[token], encodings[token], token),
        look=LOOK[kind],
        computed=Embedding.forward,
        path=f"{side}.tokens, {side}.positions",
    )
    figure = figures.embedding_vs_position_norms(token_norms, position_norms, tokens, theme=current_theme())
    show(
        figure,
        name=f"embedding-and-position-sizes-{side}",
        caption="For each token, the length of its embedding times √d_model beside the length of the "
        "encoding that is added to it.",
        key="pe_sizes",
    )


def _formula(vector: np.ndarray, encoding: np.ndarray, position: int) -> str:
    root = math.sqrt(len(vector))
    size, place, total = (float(np.linalg.norm(x)) for x in (vector, encoding, vector + encoding))
    return (
        rf"\begin{{gathered}} x_{{{position}}} = "
        rf"\text{{embedding}} \cdot \sqrt{{{len(vector)}}} + PE({position}) \\ "
        rf"\lVert \text{{embedding}} \rVert \cdot \sqrt{{{len(vector)}}} = "
        rf"{size / root:.3f} \cdot {root:.3f} = {size:.3f} \\ "
        rf"\lVert PE({position}) \rVert = {place:.3f} \qquad "
        rf"\lVert x_{{{position}}} \rVert = {total:.3f} \end{{gathered}}"
    )
