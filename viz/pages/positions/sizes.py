"""The size of each token's embedding beside the size of the encoding added to it, in the loaded model."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.positions import input_vectors
from transformer.model.config import TransformerConfig
from transformer.model.embedding import Embedding
from transformer.model.trace import Stack
from transformer.run import Run
from viz.pages.shared.explain import explain
from viz.pages.shared.figure import show
from viz.run_figures.positions import input_lengths_figure
from viz.session import current_model, current_theme
from viz.widgets import pick_button, pick_token

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
    sides = {side: label for side, label in SIDES.items() if f"{side}.tokens" in run.trace}
    side = pick_button(left.segmented_control, "Which input", sides, key="pe_side")
    stack: Stack = "encoder" if side == "src_embedding" else "decoder"
    tokens = run.trace.tokens(stack)[0]
    vectors, encodings = input_vectors(run.trace, stack)
    token = pick_token(right.selectbox, "Token of the formula", tokens, key="pe_token")
    config = current_model().model.config
    by = "√d_model" if config.embedding_scale is True else f"{config.embedding_factor:g}"
    times = f", times {by}," if config.embedding_scale else ""
    token_length, position_length = (np.linalg.norm(x, axis=1).mean() for x in (vectors, encodings))
    ratio = float(token_length / position_length)
    explain(
        what=f"The model that is loaded adds the two: each token's embedding{times} and the "
        f"{config.positions} encoding of its place. Here the embeddings are "
        f"{ratio:.2f} times as long as the encodings on average. {_remarks(config, ratio)}",
        formula=_formula(vectors[token], encodings[token], token, config),
        look=LOOK[config.positions],
        computed=Embedding.forward,
        path=f"{side}.tokens, {side}.positions",
    )
    show(
        input_lengths_figure(run.trace, stack, config, theme=current_theme()),
        name=f"embedding-and-position-sizes-{side}",
        caption=f"For each token, the length of its embedding{f' times {by}' if times else ''} beside the "
        "length of the encoding that is added to it.",
        key="pe_sizes",
    )


def _remarks(config: TransformerConfig, ratio: float) -> str:
    """What else is to be said of how this model makes its input; `ratio`: embeddings over encodings."""
    remarks = []
    if config.embedding_scale:
        by = "√d_model" if config.embedding_scale is True else f"{config.embedding_factor:g}"
        without = ratio / config.embedding_factor
        remarks.append(f"Without the factor {by} they would be {without:.2f} times as long.")
    if config.position_offset:
        remarks.append(f"Its first token gets the encoding of position {config.position_offset}.")
    if config.d_embedding:
        remarks.append(
            f"Both have {config.d_embedding} numbers; one matrix then widens their sum to {config.d_model}."
        )
    if config.sinusoid_layout != "interleaved" and config.positions == "sinusoidal":
        remarks.append("This model keeps all sines before all cosines.")
    if config.n_segments:
        remarks.append("One vector more, the same for every token (its segment), is added besides.")
    if config.embedding_norm:
        remarks.append("A norm follows the sum.")
    return " ".join(remarks)


def _formula(vector: np.ndarray, encoding: np.ndarray, token: int, config: TransformerConfig) -> str:
    is_scaled, factor = bool(config.embedding_scale), config.embedding_factor
    position = token + config.position_offset
    times, number = ("", "")
    if is_scaled:
        root = rf"\sqrt{{{config.d_model}}}" if config.embedding_scale is True else f"{factor:g}"
        times, number = rf" \cdot {root}", rf" \cdot {factor:.3f}"
    size, place, total = (float(np.linalg.norm(x)) for x in (vector, encoding, vector + encoding))
    return (
        rf"\begin{{gathered}} x_{{{token}}} = "
        rf"\text{{embedding}}{times} + PE({position}) \\ "
        rf"\lVert \text{{embedding}} \rVert{times} = "
        + (rf"{size / factor:.3f}{number} = " if is_scaled else "")
        + rf"{size:.3f} \\ "
        rf"\lVert PE({position}) \rVert = {place:.3f} \qquad "
        rf"\lVert x_{{{token}}} \rVert = {total:.3f} \end{{gathered}}"
    )
